package machine_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// workloadCluster is a workload cluster; without a client it cannot be reached.
type workloadCluster struct{ client.Client }

// GetClient implements controller.Workloads.
func (c *workloadCluster) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	if c.Client == nil {
		return nil, clustercache.ErrClusterNotConnected
	}
	return c.Client, nil
}

// TestNodeProviderID: a Node gets its machine's providerID where nobody has set
// one.
func TestNodeProviderID(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		cluster := &workloadCluster{}
		w.workloads = cluster
		w.restartManager()
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		m := w.reconcileUntil("web", infrav1.NodeProviderIDSetCondition, infrav1.WorkloadClusterUnreachableReason)
		w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		if soon := w.reconcileOnce("web").RequeueAfter; soon > 30*time.Second {
			t.Errorf("looks for a new machine's Node after %s", soon)
		}
		for range 40 {
			time.Sleep(w.reconcileOnce("web").RequeueAfter)
		}
		for range 2 { // the first one gets into step with all others
			time.Sleep(w.reconcileOnce("web").RequeueAfter)
		}
		if late := w.reconcileOnce("web").RequeueAfter; late < 40*time.Second {
			t.Errorf("still looks after %s for a Node that does not come", late)
		}
		node := func(name, providerID, ip string) *corev1.Node {
			return &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID},
				Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}}},
			}
		}
		ip := w.maasMachine(*m.Spec.SystemID).IPAddresses[0]
		cases := []struct {
			name, reason, why string
			nodes             []client.Object
			set               string // the Node that gets the providerID
		}{
			{"None", infrav1.NodeNotFoundReason, "It has not joined yet.", []client.Object{node("other", "", "10.77.9.9")}, ""},
			{"ByName", infrav1.NodeProviderIDSetReason, "It has the hostname.", []client.Object{node(*m.Status.Hostname, "", ip)}, *m.Status.Hostname},
			{"ByDomain", infrav1.NodeProviderIDSetReason, "It has the hostname with its domain.", []client.Object{node(*m.Status.Hostname+".maas", "", ip)}, *m.Status.Hostname + ".maas"},
			{"ByAddress", infrav1.NodeProviderIDSetReason, "It has the address.", []client.Object{node("override", "", ip)}, "override"},
			{"Namesake", infrav1.NodeNotFoundReason, "A Node of that name with another address is another machine.", []client.Object{node(*m.Status.Hostname, "", "10.77.9.9")}, ""},
			{"Set", infrav1.NodeProviderIDSetReason, "The kubelet set it.", []client.Object{node(*m.Status.Hostname, *m.Spec.ProviderID, ip)}, *m.Status.Hostname},
			{"Foreign", infrav1.NodeProviderIDDiffersReason, "It is never rewritten.", []client.Object{node("override", "aws:///x", ip)}, ""},
		}
		for _, tc := range cases {
			cluster.Client = fake.NewClientBuilder().WithObjects(tc.nodes...).Build()
			m := w.reconcileUntil("web", infrav1.NodeProviderIDSetCondition, tc.reason)
			w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
			all := &corev1.NodeList{}
			if err := cluster.List(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			for _, n := range all.Items {
				has := n.Spec.ProviderID == *m.Spec.ProviderID
				if want := n.Name == tc.set; has != want {
					t.Errorf("%s: %s Node %s has %q", tc.name, tc.why, n.Name, n.Spec.ProviderID)
				}
			}
		}
	})
}
