package webhook

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// Annotations by which the controllers know which object has a machine.
const (
	keyAnnotation      = infrav1.AnnotationPrefix + "key"
	systemIDAnnotation = infrav1.AnnotationPrefix + "system-id"
	adoptionAnnotation = infrav1.AnnotationPrefix + "inherited"
)

// checkArrival refuses a MaasMachine that arrives paused and names a machine
// that was not made for it, unless its identity allows take-over. Otherwise a
// user who may pause a Cluster could take any machine without a mark. An object
// whose key names it gets its machine only by the machine's own mark. A
// MaasCluster that names its DNS record gets it once the controller sees its
// own machines there.
func (g Guard) checkArrival(ctx context.Context, obj client.Object) (field.ErrorList, error) {
	m, ok := obj.(*infrav1.MaasMachine)
	if !ok || !namesMachine(m) || isMadeFor(m) {
		return nil, nil
	}
	allowed, err := g.allowsTakeOver(ctx, m)
	if err != nil || allowed {
		return nil, err
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "systemID"),
		"nothing proves that the machine was made for this object. Leave out systemID and providerID, "+
			"or ask the administrator to allow it, by allowTakeOver of the MaasClusterIdentity or the manager's --allow-take-over")}, nil
}

// namesMachine reports whether an object names a machine that it would get. An
// object that the controllers noted as new gets none.
func namesMachine(m *infrav1.MaasMachine) bool {
	if m.Annotations[adoptionAnnotation] == "none" && m.Annotations[keyAnnotation] == "" {
		return false
	}
	return ptr.Deref(m.Spec.SystemID, "") != "" || ptr.Deref(m.Spec.ProviderID, "") != "" || m.Annotations[systemIDAnnotation] != ""
}

// isMadeFor reports whether the key names the object, in any management
// cluster.
func isMadeFor(m *infrav1.MaasMachine) bool {
	_, names, _ := strings.Cut(m.Annotations[keyAnnotation], "/")
	own := strings.Join([]string{m.Namespace, m.Labels[clusterv1.ClusterNameLabel], m.Name}, "/")
	return names == own && m.Annotations[adoptionAnnotation] != "pending"
}

// allowsTakeOver asks the identity of an object's cluster.
func (g Guard) allowsTakeOver(ctx context.Context, m *infrav1.MaasMachine) (bool, error) {
	if g.IdentityAllowsTakeOver == nil {
		return false, nil
	}
	var cluster clusterv1.Cluster
	key := client.ObjectKey{Namespace: m.Namespace, Name: m.Labels[clusterv1.ClusterNameLabel]}
	if err := g.Reader.Get(ctx, key, &cluster); err != nil {
		return false, ignoreMissingObject(err, "Cluster", key)
	}
	var infra infrav1.MaasCluster
	key.Name = cluster.Spec.InfrastructureRef.Name
	if err := g.Reader.Get(ctx, key, &infra); err != nil {
		return false, ignoreMissingObject(err, "MaasCluster", key)
	}
	return g.IdentityAllowsTakeOver(ctx, &infra)
}

// ignoreMissingObject turns a missing object into no error: without it,
// take-over is not allowed.
func ignoreMissingObject(err error, kind string, key client.ObjectKey) error {
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf("cannot tell whether the identity of %s %s allows take-over: %w", kind, key, err)
}
