package machine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestStrangersAddressesAreNotTaken: the object of a machine that somebody else has
// by now keeps the names and addresses that it had: the cluster would publish his.
// It says that the API's name no longer points to it, once that is so.
func TestStrangersAddressesAreNotTaken(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) { c.Status.Network.DNSName = apiDNSName.String() })
		w.addMachine("cp-1", controllertest.MetalMachineSpec(), makeControlPlane)
		w.addMachine("cp-2", controllertest.VMMachineSpec(), makeControlPlane)
		before := w.reconcileUntilReady("cp-1").Status
		w.reconcileUntilReady("cp-2")
		w.publishAPIRecord("cp-1", "cp-2")
		m := w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason)
		w.redeployForOther(m, "somebody/else")
		w.editMaasMachine(*m.Spec.SystemID, sim.MachineEdit{Hostname: ptr.To("theirs")})
		m = w.reconcileUntil("cp-1", infrav1.ReadyCondition, infrav1.ConflictReason)
		if diff := cmp.Diff(before.Addresses, m.Status.Addresses); diff != "" || *m.Status.Hostname != *before.Hostname {
			t.Errorf("it is %s (-before +now):\n%s", *m.Status.Hostname, diff)
		}
		w.wantCondition(m, infrav1.DNSAttachedCondition, metav1.ConditionTrue, infrav1.DNSAttachedReason)
		w.publishAPIRecord("cp-2")
		if m = w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSDetachedReason); m.Status.DNSAttached {
			t.Error("its status says that it is attached")
		}
	})
}

// TestGoneMachineIsDetached: so does one that MAAS no longer has.
func TestGoneMachineIsDetached(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) { c.Status.Network.DNSName = apiDNSName.String() })
		w.addMachine("cp-1", controllertest.VMMachineSpec(), makeControlPlane)
		w.addMachine("cp-2", controllertest.VMMachineSpec(), makeControlPlane)
		w.reconcileUntilReady("cp-1")
		w.reconcileUntilReady("cp-2")
		w.publishAPIRecord("cp-1", "cp-2")
		m := w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason)
		if err := w.sim.DeleteMachine(*m.Spec.SystemID); err != nil {
			t.Fatal(err)
		}
		w.reconcileUntil("cp-1", infrav1.ReadyCondition, infrav1.MachineNotFoundReason)
		w.publishAPIRecord("cp-2")
		w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSDetachedReason)
		w.removeMachine("cp-1")
	})
}

// TestReleasedStaysReleased: what was released is lost, whatever MAAS shows it as
// while somebody else makes it his: it must not seem to be the cluster's again.
func TestReleasedStaysReleased(t *testing.T) {
	unmarked := &map[string]string{}
	cases := map[string]struct {
		reason  string
		machine infrav1.MaasMachineSpec
		edits   []sim.MachineEdit
		want    string // the reason of MachineDeployed after the last one
	}{
		"MetalDeploying": {
			reason: "Bare metal has lost its mark, though the release was not seen.", machine: controllertest.MetalMachineSpec(),
			edits: []sim.MachineEdit{{StatusName: ptr.To("Deploying"), OwnerData: unmarked}},
			want:  infrav1.MachineReleasedReason,
		},
		"MetalOfOthers": {
			reason: "The machine shows whose it is before it is Deployed.", machine: controllertest.MetalMachineSpec(),
			edits: []sim.MachineEdit{{StatusName: ptr.To("Deploying"), OwnerData: &map[string]string{"maaslxd-key": "somebody/else"}}},
			want:  infrav1.ConflictReason,
		},
		"VMDeploying": {
			reason: "A VM keeps its mark. The manager has seen the release.", machine: controllertest.VMMachineSpec(),
			edits: []sim.MachineEdit{{StatusName: ptr.To("Ready"), PowerState: ptr.To("off")}, {StatusName: ptr.To("Deploying")}},
			want:  infrav1.MachineReleasedReason,
		},
		"VMFailed": {
			reason: "A failed deployment by somebody else does not make it the cluster's.", machine: controllertest.VMMachineSpec(),
			edits: []sim.MachineEdit{{StatusName: ptr.To("Ready")}, {StatusName: ptr.To("Failed deployment")}},
			want:  infrav1.MachineReleasedReason,
		},
		"PutBack": {
			reason: "A machine that is Deployed again with our mark is ours.", machine: controllertest.VMMachineSpec(),
			edits: []sim.MachineEdit{{StatusName: ptr.To("Ready")}, {StatusName: ptr.To("Deployed"), PowerState: ptr.To("on")}},
			want:  infrav1.MachineDeployedReason,
		},
		"Broken": {
			reason: "Without a release the machine stays the cluster's, and somebody works on it.", machine: controllertest.MetalMachineSpec(),
			edits: []sim.MachineEdit{{StatusName: ptr.To("Broken")}, {StatusName: ptr.To("Testing")}},
			want:  infrav1.MachineStateUndefinedReason,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("m", tc.machine, nil)
				id := *w.reconcileUntilReady("m").Spec.SystemID
				for _, edit := range tc.edits {
					w.editMaasMachine(id, edit)
					for range 3 {
						time.Sleep(max(w.reconcileOnce("m").RequeueAfter, time.Minute))
					}
				}
				if got := conditions.GetReason(w.getMachine("m"), infrav1.MachineDeployedCondition); got != tc.want {
					t.Errorf("%s It is %s, want %s:\n%s", tc.reason, got, tc.want, conditionSummary(w.getMachine("m")))
				}
			})
		})
	}
}
