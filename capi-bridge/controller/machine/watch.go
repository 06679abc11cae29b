package machine

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// filterUpdates accepts only updates of an object that matter to a machine.
// Others would each cost a look at MAAS: the controller's own writes, and
// Cluster API's many notes in a Machine's status.
func filterUpdates[Object client.Object](matters func(Object) any) builder.Predicates {
	return builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(Object)
		after, also := e.ObjectNew.(Object)
		return !ok || !also || !equality.Semantic.DeepEqual(commonFields(before), commonFields(after)) ||
			!equality.Semantic.DeepEqual(matters(before), matters(after))
	}})
}

// commonFields returns the fields that matter in every object.
func commonFields(o client.Object) any {
	theirs := maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(theirs, func(name, _ string) bool { return strings.HasPrefix(name, infrav1.AnnotationPrefix) })
	return struct {
		Deleting            bool
		Labels, Annotations map[string]string
		Owners              []metav1.OwnerReference
	}{!o.GetDeletionTimestamp().IsZero(), o.GetLabels(), theirs, o.GetOwnerReferences()}
}

// maasMachineFields returns the spec without the fields that the controller
// writes.
func maasMachineFields(m *infrav1.MaasMachine) any {
	spec := m.Spec.DeepCopy()
	spec.ProviderID, spec.SystemID = nil, nil
	return spec
}

func machineFields(m *clusterv1.Machine) any {
	return []any{m.Spec.Bootstrap, m.Spec.FailureDomain, m.Status.NodeRef}
}

func clusterFields(c *clusterv1.Cluster) any {
	return []any{c.Spec.Paused, c.Spec.InfrastructureRef, c.Status.Initialization}
}

func maasClusterFields(c *infrav1.MaasCluster) any {
	return []any{c.Spec, c.Status.Initialization, c.Status.Network.DNSName, conditions.IsTrue(c, infrav1.IdentityReadyCondition)}
}

// dnsRecordPredicate accepts changes of the published addresses of a cluster's
// API. The condition names the addresses.
var dnsRecordPredicate = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*infrav1.MaasCluster)
		after, also := e.ObjectNew.(*infrav1.MaasCluster)
		if !ok || !also {
			return true
		}
		kind := infrav1.DNSReadyCondition
		return conditions.IsTrue(after, kind) && conditions.GetMessage(before, kind) != conditions.GetMessage(after, kind)
	},
}
