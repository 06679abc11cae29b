package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
)

// templateKind is the kind of the templates of MaasMachines.
const templateKind = "MaasMachineTemplate"

// readControlPlaneMachine reads what the control plane's machines will be, from
// the template that it makes them from. Mode is empty where that cannot be
// known: the machines are not ours, or there are none. A missing control plane
// or template is a *problem.BlockedError, because it may soon need a zone.
// Other errors are the API server's.
func (s failureDomains) readControlPlaneMachine(ctx context.Context) (infrav1.ResolvedMachine, error) {
	name, err := s.findControlPlaneTemplate(ctx)
	if name == "" || err != nil {
		return infrav1.ResolvedMachine{}, err
	}
	t := &infrav1.MaasMachineTemplate{}
	err = s.Client.Get(ctx, client.ObjectKey{Namespace: s.maasCluster.Namespace, Name: name}, t)
	if apierrors.IsNotFound(err) {
		return infrav1.ResolvedMachine{}, s.controlPlaneNotFoundError(templateKind, name)
	}
	want, _ := t.Spec.Template.Spec.Resolve(field.NewPath("spec")) // its machines report contradictions in it
	return want, err
}

// findControlPlaneTemplate returns the name of that template; empty where there
// is none.
func (s failureDomains) findControlPlaneTemplate(ctx context.Context) (string, error) {
	ref := s.cluster.Spec.ControlPlaneRef
	if !ref.IsDefined() {
		return "", nil
	}
	kind, err := s.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind})
	if meta.IsNoMatchError(err) {
		return "", s.controlPlaneNotFoundError(ref.Kind, ref.Name)
	}
	if err != nil {
		return "", fmt.Errorf("cannot look for the kind %s: %w", ref.Kind, err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind.GroupVersionKind)
	err = s.Client.Get(ctx, client.ObjectKey{Namespace: s.cluster.Namespace, Name: ref.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return "", s.controlPlaneNotFoundError(ref.Kind, ref.Name)
	case apierrors.IsForbidden(err): // the manager's role has kubeadm's alone
		ctrl.LoggerFrom(ctx).V(4).Info("may not read the control plane", "kind", ref.Kind, "name", ref.Name)
		return "", nil
	case err != nil:
		return "", fmt.Errorf("cannot read the %s %s: %w", ref.Kind, ref.Name, err)
	}
	return templateNameOf(object), nil
}

// templateNameOf returns the name of the MaasMachineTemplate that a control
// plane names, in either version of the contract; empty where it names none.
func templateNameOf(controlPlane *unstructured.Unstructured) string {
	for _, path := range [][]string{{"spec", "machineTemplate", "spec", "infrastructureRef"}, {"spec", "machineTemplate", "infrastructureRef"}} {
		ref, _, _ := unstructured.NestedStringMap(controlPlane.Object, path...)
		if ref["kind"] == templateKind {
			return ref["name"]
		}
	}
	return ""
}

// controlPlaneNotFoundError says that the control plane or its template does
// not exist yet.
func (s failureDomains) controlPlaneNotFoundError(kind, name string) error {
	return &problem.BlockedError{
		Reason: infrav1.ControlPlaneNotFoundReason, RetryAfter: requeue.BusyAfter, Transient: true,
		Message: fmt.Sprintf("there is no %s %s yet; it says which machines the control plane needs zones for", kind, name),
	}
}
