package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// Guard keeps the annotations by which the controllers know what is an object's in
// MAAS from everybody but the manager: who could write them could have the machines
// of others, and their names.
type Guard struct {
	// Reader reads Clusters, and not from a cache: an object may be made at once
	// after its Cluster.
	Reader client.Reader
	// ManagerUser is the user that the manager is to the API server.
	ManagerUser string
	// IdentityAllowsTakeOver tells whether a cluster's identity lets objects have machines that were
	// not made for them; nil: none does.
	IdentityAllowsTakeOver func(context.Context, *infrav1.MaasCluster) (bool, error)
}

// guardedValidator asks the guard before the rules of a kind.
type guardedValidator[T client.Object] struct {
	admission.Validator[T]
	guard Guard
	kind  string
}

// ValidateCreate judges a new object.
func (g guardedValidator[T]) ValidateCreate(ctx context.Context, obj T) (admission.Warnings, error) {
	errs := append(checkAnnotations(nil, obj.GetAnnotations()), checkFinalizers(nil, obj.GetFinalizers())...)
	if err := g.refuseManagerFields(ctx, obj, errs, true); err != nil {
		return nil, err
	}
	return g.Validator.ValidateCreate(ctx, obj)
}

// ValidateUpdate judges what becomes of an object.
func (g guardedValidator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	var errs field.ErrorList
	if leaves, err := g.guard.isMovedAway(ctx, after); err != nil {
		return nil, err
	} else if !leaves {
		errs = checkAnnotations(before.GetAnnotations(), after.GetAnnotations())
	}
	errs = append(errs, checkFinalizers(before.GetFinalizers(), after.GetFinalizers())...)
	if err := g.refuseManagerFields(ctx, after, append(errs, checkIDs(before, after)...), false); err != nil {
		return nil, err
	}
	return g.Validator.ValidateUpdate(ctx, before, after)
}

// refuseManagerFields refuses what only the manager may write. Objects may come with it while
// their Cluster is paused: that is how clusterctl moves them, and how backups are
// restored. That an object itself is paused says nothing: who makes it may write that.
func (g guardedValidator[T]) refuseManagerFields(ctx context.Context, obj T, errs field.ErrorList, isNew bool) error {
	if len(errs) == 0 {
		return nil
	}
	request, err := admission.RequestFromContext(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("cannot tell who asks: %w", err)
	case request.UserInfo.Username == g.guard.ManagerUser:
		return nil
	case isNew:
		paused, err := g.guard.isPaused(ctx, obj)
		if err != nil {
			return err
		}
		if paused {
			if errs, err = g.guard.checkArrival(ctx, obj); err != nil || len(errs) == 0 {
				return err
			}
		}
	}
	return apierrors.NewInvalid(infrav1.GroupVersion.WithKind(g.kind).GroupKind(), obj.GetName(), errs)
}

// isMovedAway tells whether clusterctl deletes an object, which stands elsewhere by
// then. It puts an annotation in the place of all others, while the Cluster is paused.
func (g Guard) isMovedAway(ctx context.Context, obj client.Object) (bool, error) {
	if _, moved := obj.GetAnnotations()[deleteForMoveAnnotation]; !moved || len(obj.GetAnnotations()) != 1 {
		return false, nil
	}
	return g.isPaused(ctx, obj)
}

// deleteForMoveAnnotation is the annotation of what "clusterctl move" deletes.
const deleteForMoveAnnotation = "clusterctl.cluster.x-k8s.io/delete-for-move"

// isPaused tells whether an object's Cluster is paused.
func (g Guard) isPaused(ctx context.Context, obj client.Object) (bool, error) {
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return false, nil
	}
	var cluster clusterv1.Cluster
	err := g.Reader.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, &cluster)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot tell whether the Cluster %s is paused: %w", name, err)
	}
	return err == nil && cluster.Spec.Paused != nil && *cluster.Spec.Paused, nil
}

// checkAnnotations are the annotations of the manager's that differ.
func checkAnnotations(before, after map[string]string) field.ErrorList {
	all := maps.Clone(before)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, after)
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := before[name]
		is, has := after[name]
		ours := strings.HasPrefix(name, infrav1.AnnotationPrefix) && name != infrav1.TakeOverAnnotation
		if ours && (had != has || was != is) || name == deleteForMoveAnnotation && had && !has {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations").Key(name),
				"only the manager writes it, because it says which machine in MAAS is the object's; leave it as it is"))
		}
	}
	return errs
}

// checkFinalizers are the manager's finalizers that somebody else put on. An object that has one
// seems to have been there before the manager was.
func checkFinalizers(before, after []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range after {
		ours := name == infrav1.MachineFinalizer || name == infrav1.ClusterFinalizer
		if ours && !slices.Contains(before, name) {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "finalizers").Index(i), "the manager puts it on; leave it out"))
		}
	}
	return errs
}

// checkIDs are the ids that somebody else filled in, while the manager makes the machine:
// they would name another one.
func checkIDs(before, after client.Object) field.ErrorList {
	was, isMachine := before.(*infrav1.MaasMachine)
	is, _ := after.(*infrav1.MaasMachine)
	_, moved := before.GetAnnotations()[deleteForMoveAnnotation] // and its key with the other annotations
	if !isMachine || was.Annotations[keyAnnotation] == "" && !moved {
		return nil
	}
	var errs field.ErrorList
	refuse := func(name string, before, after *string) {
		if before == nil && after != nil {
			errs = append(errs, field.Forbidden(field.NewPath("spec", name), "the manager fills it in, for it makes the machine; leave it out"))
		}
	}
	refuse("providerID", was.Spec.ProviderID, is.Spec.ProviderID)
	refuse("systemID", was.Spec.SystemID, is.Spec.SystemID)
	return errs
}
