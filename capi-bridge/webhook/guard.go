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

// Guard lets only the manager write the annotations by which the controllers
// know which machines and names belong to an object. Otherwise a user could
// take the machines and names of others.
type Guard struct {
	// Reader reads Clusters, and not from a cache: an object may be created
	// right after its Cluster.
	Reader client.Reader
	// ManagerUser is the user name that the manager has at the API server.
	ManagerUser string
	// IdentityAllowsTakeOver reports whether a cluster's identity lets objects
	// take machines that were not made for them; nil: none does.
	IdentityAllowsTakeOver func(context.Context, *infrav1.MaasCluster) (bool, error)
}

// guardedValidator asks the guard before it applies the rules of a kind.
type guardedValidator[T client.Object] struct {
	admission.Validator[T]
	guard Guard
	kind  string
}

// ValidateCreate validates a new object.
func (g guardedValidator[T]) ValidateCreate(ctx context.Context, obj T) (admission.Warnings, error) {
	errs := append(checkAnnotations(nil, obj.GetAnnotations()), checkFinalizers(nil, obj.GetFinalizers())...)
	if err := g.refuseManagerFields(ctx, obj, errs, true); err != nil {
		return nil, err
	}
	return g.Validator.ValidateCreate(ctx, obj)
}

// ValidateUpdate validates a changed object.
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

// refuseManagerFields refuses fields that only the manager may write. Objects
// may arrive with them while their Cluster is paused: clusterctl moves objects
// so, and backups are restored so. A pause of the object itself does not count,
// because its creator can set it.
func (g guardedValidator[T]) refuseManagerFields(ctx context.Context, obj T, errs field.ErrorList, isNew bool) error {
	if len(errs) == 0 {
		return nil
	}
	request, err := admission.RequestFromContext(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("cannot find out who sent the request: %w", err)
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

// isMovedAway reports whether clusterctl deletes an object that now exists
// elsewhere. clusterctl replaces all its annotations by one, while the Cluster
// is paused.
func (g Guard) isMovedAway(ctx context.Context, obj client.Object) (bool, error) {
	if _, moved := obj.GetAnnotations()[deleteForMoveAnnotation]; !moved || len(obj.GetAnnotations()) != 1 {
		return false, nil
	}
	return g.isPaused(ctx, obj)
}

// deleteForMoveAnnotation is the annotation of objects that "clusterctl move"
// deletes.
const deleteForMoveAnnotation = "clusterctl.cluster.x-k8s.io/delete-for-move"

// isPaused reports whether an object's Cluster is paused.
func (g Guard) isPaused(ctx context.Context, obj client.Object) (bool, error) {
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return false, nil
	}
	var cluster clusterv1.Cluster
	err := g.Reader.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, &cluster)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot find out whether the Cluster %s is paused: %w", name, err)
	}
	return err == nil && cluster.Spec.Paused != nil && *cluster.Spec.Paused, nil
}

// checkAnnotations refuses changes of the manager's annotations.
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
				"only the manager writes it, because it says which machine in MAAS belongs to the object; leave it as it is"))
		}
	}
	return errs
}

// checkFinalizers refuses the manager's finalizers from anybody else. An object
// that has one seems to be older than the manager.
func checkFinalizers(before, after []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range after {
		ours := name == infrav1.MachineFinalizer || name == infrav1.ClusterFinalizer
		if ours && !slices.Contains(before, name) {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "finalizers").Index(i), "the manager adds it; leave it out"))
		}
	}
	return errs
}

// checkIDs refuses ids that somebody else fills in while the manager makes the
// machine: they would name another machine.
func checkIDs(before, after client.Object) field.ErrorList {
	was, isMachine := before.(*infrav1.MaasMachine)
	is, _ := after.(*infrav1.MaasMachine)
	_, moved := before.GetAnnotations()[deleteForMoveAnnotation] // the move also removed its key
	if !isMachine || was.Annotations[keyAnnotation] == "" && !moved {
		return nil
	}
	var errs field.ErrorList
	refuse := func(name string, before, after *string) {
		if before == nil && after != nil {
			errs = append(errs, field.Forbidden(field.NewPath("spec", name), "the manager sets it, because it makes the machine; leave it out"))
		}
	}
	refuse("providerID", was.Spec.ProviderID, is.Spec.ProviderID)
	refuse("systemID", was.Spec.SystemID, is.Spec.SystemID)
	return errs
}
