package machine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestInfrastructureOfAnother: a machine is made only in the MAAS of the
// MaasCluster that its Cluster names. Without one it says so.
func TestInfrastructureOfAnother(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*clusterv1.Cluster)
		says   string
	}{
		"AnotherKind": {"Another provider's cluster may have the name of a MaasCluster.", func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Kind = "OtherCluster" }, "OtherCluster prod"},
		"NotThere":    {"The MaasCluster was misspelt, or is still to come.", func(c *clusterv1.Cluster) { c.Spec.InfrastructureRef.Name = "prd" }, "MaasCluster prd"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				c := &clusterv1.Cluster{}
				if err := w.client.Get(t.Context(), fleetKeyOf(fleetCluster), c); err != nil {
					t.Fatal(err)
				}
				was := c.Spec.InfrastructureRef
				tc.change(c)
				if err := w.client.Update(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				w.addMachine("web", controllertest.VMMachineSpec(), nil)
				for range 5 {
					w.reconcileOnce("web")
					time.Sleep(5 * time.Second)
				}
				if n := len(w.sim.Instances()); n > 0 {
					t.Errorf("%s\n%d VMs are made all the same", tc.reason, n)
				}
				w.wantCondition(w.getMachine("web"), infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.WaitingForClusterInfrastructureReason, tc.says)
				c.Spec.InfrastructureRef = was
				if err := w.client.Update(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				w.reconcileUntilReady("web")
			})
		})
	}
}

// TestManagedByOnMachine: the annotation of clusters that somebody else manages
// means nothing on a machine, by Cluster API's contract: its deletion goes on.
func TestManagedByOnMachine(t *testing.T) {
	t.Parallel()
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntilReady("web")
		m := w.getMachine("web")
		m.Annotations[clusterv1.ManagedByAnnotation] = "me"
		if err := w.client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.removeMachine("web")
	})
}

// TestIncumbentDefaultsMakeBridge: what CAPMaaS's CRD stored in every object means
// what it meant there: the bridge is made in MAAS, and the storage pool is 80 % of
// the disk.
func TestIncumbentDefaultsMakeBridge(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		skip *bool
		size string // of the pool, on the 100 GB of the smallest machine
	}{"IncumbentDefault": {ptr.To(true), "80GB"}, "LeftOut": {nil, "50GB"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.changeCluster(func(c *infrav1.MaasCluster) {
					c.Spec.LXDConfig = &infrav1.LXDHostConfig{
						Enabled: ptr.To(true), StorageBackend: "zfs", StorageSize: "50", NICType: "bridge", NICParent: "br0", SkipNetworkUpdate: tc.skip,
					}
				})
				w.addMachine("host", controllertest.MetalMachineSpec(), nil)
				for range 60 {
					time.Sleep(max(time.Second, min(5*time.Second, w.reconcileOnce("host").RequeueAfter)))
				}
				if n := w.sim.Journal().Count("POST nodes/{id}/interfaces/ create_bridge"); n != 1 {
					t.Errorf("the bridge is made %d times", n)
				}
				m := w.getMachine("host")
				if !conditions.IsTrue(m, infrav1.LXDReadyCondition) {
					t.Fatalf("no LXD host after five minutes:\n%s", conditionSummary(m))
				}
				data, err := w.sim.UserData(*m.Spec.SystemID)
				if err != nil || !strings.Contains(string(data), "size: "+tc.size) {
					t.Errorf("the pool is not of %s: %v\n%s", tc.size, err, data)
				}
			})
		})
	}
}
