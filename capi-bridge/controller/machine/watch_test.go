package machine

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestRecordWakesMachines: once the DNS record of a cluster's API was written, those
// machines look at it at once that wait for it, and no others.
func TestRecordWakesMachines(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{infrav1.AddToScheme, clusterv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "c"}}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster)
	for name, m := range map[string]struct {
		worker, bare, deleting bool
		reason                 string // of DNSAttached
	}{
		"pending": {reason: infrav1.DNSAttachPendingReason}, "unsaid": {}, "attached": {reason: infrav1.DNSAttachedReason},
		"detached": {reason: infrav1.DNSDetachedReason}, "detaching": {reason: infrav1.DNSDetachPendingReason, deleting: true},
		"leaving": {reason: infrav1.DNSAttachedReason, deleting: true}, "worker": {worker: true}, "addressless": {bare: true},
	} {
		o := &infrav1.MaasMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}}
		if !m.worker {
			o.Labels[clusterv1.MachineControlPlaneLabel] = ""
		}
		if m.deleting {
			o.DeletionTimestamp, o.Finalizers = &metav1.Time{Time: time.Now()}, []string{infrav1.MachineFinalizer}
		}
		if !m.bare {
			o.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "10.77.0.11"}}
		}
		if m.reason != "" {
			o.Status.Conditions = infrav1.Conditions{{Type: infrav1.DNSAttachedCondition, Status: metav1.ConditionFalse, Reason: m.reason}}
		}
		builder.WithObjects(o)
	}
	r := &Reconciler{Client: builder.Build()}
	before := &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: "c", OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: "c"}},
	}}
	after := before.DeepCopy()
	after.Status.Conditions = infrav1.Conditions{{Type: infrav1.DNSReadyCondition, Status: metav1.ConditionTrue, Message: "c.maas points to 10.77.0.11"}}
	if !dnsRecordPredicate.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a record that was written wakes nobody")
	}
	if dnsRecordPredicate.Update(event.UpdateEvent{ObjectOld: after, ObjectNew: after.DeepCopy()}) || dnsRecordPredicate.Create(event.CreateEvent{Object: after}) {
		t.Error("a record that stays as it is wakes machines")
	}
	var got []string
	for _, request := range r.machinesAwaitingDNS(t.Context(), after) {
		got = append(got, request.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"detaching", "leaving", "pending", "unsaid"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
