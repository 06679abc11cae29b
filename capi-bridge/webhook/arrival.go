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

// Annotations that the controllers write, and by which they know what has a machine.
const (
	keyAnnotation      = infrav1.AnnotationPrefix + "key"
	systemIDAnnotation = infrav1.AnnotationPrefix + "system-id"
	adoptionAnnotation = infrav1.AnnotationPrefix + "inherited"
)

// checkArrival refuses a MaasMachine that comes paused and names a machine which was not
// made for it, unless the identity of its cluster allows take-over. Who may pause a
// Cluster could otherwise have any machine that bears no mark. One that says by its key
// for whom its machine was made gets it by the machine's own mark only. A MaasCluster
// that names its DNS record gets it once the controller sees its own machines there.
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
		"nothing says that the machine was made for this object, which would have it; leave systemID and providerID out, "+
			"or let the administrator allow it, by allowTakeOver of the MaasClusterIdentity or the manager's --allow-take-over")}, nil
}

// namesMachine tells whether an object names a machine that it would be given. One of
// which the controllers noted that it was new is given none.
func namesMachine(m *infrav1.MaasMachine) bool {
	if m.Annotations[adoptionAnnotation] == "none" && m.Annotations[keyAnnotation] == "" {
		return false
	}
	return ptr.Deref(m.Spec.SystemID, "") != "" || ptr.Deref(m.Spec.ProviderID, "") != "" || m.Annotations[systemIDAnnotation] != ""
}

// isMadeFor tells whether the key names the object, of whichever management cluster.
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

// ignoreMissingObject lets nothing be taken over where an object is missing that would say so.
func ignoreMissingObject(err error, kind string, key client.ObjectKey) error {
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf("cannot tell whether the identity of %s %s allows take-over: %w", kind, key, err)
}
