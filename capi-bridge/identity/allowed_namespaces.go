package identity

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// checkNamespaceAllowed refuses a namespace that the identity does not allow,
// by its list or by labels. An identity with neither allows all. An identity
// without allowedNamespaces allows nobody.
func (f Finder) checkNamespaceAllowed(ctx context.Context, id *infrav1.MaasClusterIdentity, namespace string) error {
	may := id.Spec.AllowedNamespaces
	if may != nil && (len(may.List) == 0 && may.Selector == nil || slices.Contains(may.List, namespace)) {
		return nil
	}
	if may != nil && may.Selector != nil {
		fits, err := f.allowsNamespace(ctx, id.Name, may, namespace)
		if fits || err != nil {
			return err
		}
	}
	return deniedError("Add the namespace to spec.allowedNamespaces of the identity, or label it so that the selector there matches.",
		"the MaasClusterIdentity %s does not allow clusters of the namespace %s", id.Name, namespace)
}

// allowsNamespace reports whether the selector matches the namespace's labels.
func (f Finder) allowsNamespace(ctx context.Context, identity string, may *infrav1.AllowedNamespaces, namespace string) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(may.Selector)
	if err != nil {
		return false, unusableError("Correct spec.allowedNamespaces.selector.", "the selector of the MaasClusterIdentity %s is malformed", identity)
	}
	var ns corev1.Namespace
	found, err := f.readObject(ctx, "Namespace", client.ObjectKey{Name: namespace}, &ns)
	return found && selector.Matches(labels.Set(ns.Labels)), err
}
