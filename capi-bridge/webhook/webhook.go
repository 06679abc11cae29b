// Package webhook refuses what cannot be, when it is written: contradictions,
// values that are none, changes of what cannot change. Each refusal names the
// field and says what to do instead.
//
// Nothing is filled in: that would be taken out again by those who keep their
// objects in git.
//
// What needs MAAS to be judged, such as the name of a zone, is not judged here:
// it shows in the conditions of the object. An object that is there already,
// and was written by an older version, is not refused for what it had before;
// nor is anything that is being deleted.
package webhook

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// SetupWithManager serves the webhooks of all kinds by the manager's webhook
// server.
func SetupWithManager(mgr ctrl.Manager, guard Guard) error {
	for _, add := range []func() error{
		ctrl.NewWebhookManagedBy(mgr, &infrav1.MaasCluster{}).WithValidator(guardedValidator[*infrav1.MaasCluster]{ClusterValidator(), guard, "MaasCluster"}).Complete,
		ctrl.NewWebhookManagedBy(mgr, &infrav1.MaasClusterTemplate{}).WithValidator(ClusterTemplateValidator()).Complete,
		ctrl.NewWebhookManagedBy(mgr, &infrav1.MaasMachine{}).WithValidator(guardedValidator[*infrav1.MaasMachine]{MachineValidator(), guard, "MaasMachine"}).Complete,
		ctrl.NewWebhookManagedBy(mgr, &infrav1.MaasMachineTemplate{}).WithValidator(MachineTemplateValidator()).Complete,
		ctrl.NewWebhookManagedBy(mgr, &infrav1.MaasClusterIdentity{}).WithValidator(IdentityValidator()).Complete,
	} {
		if err := add(); err != nil {
			return err
		}
	}
	return nil
}

// ruleValidator are what is asked of the objects of a kind.
type ruleValidator[T client.Object] struct {
	kind string
	// spec of the object: what the rules are about.
	spec func(T) any
	// check judges an object by itself.
	check func(T) field.ErrorList
	// change judges what became of an object; nil: everything may change.
	change func(ctx context.Context, before, after T) (field.ErrorList, error)
	// warn is what the user should know, though it is allowed; may be nil.
	warn func(T) admission.Warnings
}

// ValidateCreate judges a new object.
func (r ruleValidator[T]) ValidateCreate(_ context.Context, obj T) (admission.Warnings, error) {
	return r.admissionResult(obj, r.check(obj))
}

// ValidateUpdate judges what becomes of an object.
func (r ruleValidator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	if after.GetDeletionTimestamp() != nil || equality.Semantic.DeepEqual(r.spec(before), r.spec(after)) {
		return nil, nil
	}
	var errs field.ErrorList
	if r.change != nil {
		var err error
		if errs, err = r.change(ctx, before, after); err != nil {
			return nil, err
		}
	}
	return r.admissionResult(after, append(errs, addedErrors(r.check(before), r.check(after))...))
}

// ValidateDelete lets everything be deleted.
func (r ruleValidator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

func (r ruleValidator[T]) admissionResult(obj T, errs field.ErrorList) (admission.Warnings, error) {
	var warnings admission.Warnings
	if r.warn != nil {
		warnings = r.warn(obj)
	}
	if len(errs) == 0 {
		return warnings, nil
	}
	return warnings, apierrors.NewInvalid(infrav1.GroupVersion.WithKind(r.kind).GroupKind(), obj.GetName(), errs)
}

// addedErrors are the errors that were not there before.
func addedErrors(before, after field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(after, func(now *field.Error) bool {
		return slices.ContainsFunc(before, func(then *field.Error) bool {
			return then.Field == now.Field && then.Type == now.Type && then.Detail == now.Detail &&
				equality.Semantic.DeepEqual(then.BadValue, now.BadValue)
		})
	})
}
