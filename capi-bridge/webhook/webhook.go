// Package webhook refuses invalid objects when they are written:
// contradictions, invalid values, and changes of fields that cannot change.
// Each refusal names the field and a way out.
//
// The webhook fills in nothing. Users who keep their objects in git would
// remove such values again.
//
// It does not check values that only MAAS can check, such as the name of a
// zone. The object's conditions show those. It does not refuse an existing
// object of an older version for values that it had before. It refuses nothing
// while an object is being deleted.
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

// SetupWithManager adds the webhooks of all kinds to the manager's webhook
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

// ruleValidator holds the rules for the objects of a kind.
type ruleValidator[T client.Object] struct {
	kind string
	// spec returns the part of the object that the rules are about.
	spec func(T) any
	// check validates an object by itself.
	check func(T) field.ErrorList
	// change validates a change of an object; nil: everything may change.
	change func(ctx context.Context, before, after T) (field.ErrorList, error)
	// warn returns warnings about allowed values; may be nil.
	warn func(T) admission.Warnings
}

// ValidateCreate validates a new object.
func (r ruleValidator[T]) ValidateCreate(_ context.Context, obj T) (admission.Warnings, error) {
	return r.admissionResult(obj, r.check(obj))
}

// ValidateUpdate validates a changed object.
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

// ValidateDelete allows every deletion.
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

// addedErrors returns the errors that were not there before the change.
func addedErrors(before, after field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(after, func(now *field.Error) bool {
		return slices.ContainsFunc(before, func(then *field.Error) bool {
			return then.Field == now.Field && then.Type == now.Type && then.Detail == now.Detail &&
				equality.Semantic.DeepEqual(then.BadValue, now.BadValue)
		})
	})
}
