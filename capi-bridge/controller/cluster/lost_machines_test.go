package cluster_test

import (
	"cmp"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// setLost changes what is seen of a MaasMachine that is no longer the cluster's, or
// may not be.
func (w *clusterWorld) setLost(name, reason string, addresses ...string) {
	w.t.Helper()
	w.setMachineStatus(name, clusterMachine{addresses: addresses})
	object := w.getMachine(name)
	conditions.Set(object, metav1.Condition{Type: infrav1.MachineDeployedCondition, Status: metav1.ConditionFalse, Reason: reason})
	if err := w.client.Status().Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// addWithProviderID makes a machine of the control plane that has its providerID, as all
// have that were deployed once.
func (w *clusterWorld) addWithProviderID(name string, m clusterMachine) {
	w.t.Helper()
	w.addMachine(name, m)
	object := w.getMachine(name)
	object.Spec.ProviderID = ptr.To("maas:///az1/" + name)
	if err := w.client.Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// TestLostMachinesLeaveTheName: the API's name does not point to what is somebody
// else's by now, or was released, and may be lent to anybody. Where nobody else
// serves it stays as it is: all three may be a mistake.
func TestLostMachinesLeaveTheName(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		do     func(w *clusterWorld) // to m1 and m2, at .11 and .12
		want   string                // "": that of m1 alone
	}{
		"Conflict": {
			reason: "Somebody else has the machine.",
			do:     func(w *clusterWorld) { w.setLost("m2", infrav1.ConflictReason, "10.77.0.12") },
		},
		"ConflictElsewhere": {
			reason: "An address that the machine has for somebody else is not published.",
			do:     func(w *clusterWorld) { w.setLost("m2", infrav1.ConflictReason, "10.77.0.66") },
		},
		"Released": {
			reason: "A released machine has no address. That differs from a machine that was not seen since a move.",
			do:     func(w *clusterWorld) { w.setLost("m2", infrav1.MachineReleasedReason) },
		},
		"NotFound": {
			reason: "The status of a lost machine keeps what was seen last.",
			do:     func(w *clusterWorld) { w.setLost("m2", infrav1.MachineNotFoundReason, "10.77.0.12") },
		},
		"Broken": {
			reason: "A machine does not serve while somebody works on it.",
			do:     func(w *clusterWorld) { w.setLost("m2", infrav1.MachineStateUndefinedReason, "10.77.0.12") },
		},
		"Off": {
			reason: "A machine does not serve while it is switched off.",
			do:     func(w *clusterWorld) { w.setLost("m2", infrav1.MachinePoweredOffReason, "10.77.0.12") },
		},
		"BesideAnUnseenOne": {
			reason: "The address of a machine that was not seen since a move stays. The address of a lost machine is known, and goes.",
			do: func(w *clusterWorld) {
				w.setMachineStatus("m1", clusterMachine{})
				w.setLost("m2", infrav1.MachineNotFoundReason, "10.77.0.12")
			},
		},
		"BesideOneThatGoes": {
			reason: "A machine that serves until it is gone is better than none.",
			do: func(w *clusterWorld) {
				w.deleteObject(w.getMachine("m1"))
				w.setLost("m2", infrav1.ConflictReason, "10.77.0.12")
			},
		},
		"GoesItself": {
			reason: "A lost machine stays lost while its object is deleted.",
			do: func(w *clusterWorld) {
				w.setLost("m2", infrav1.ConflictReason, "10.77.0.12")
				w.deleteObject(w.getMachine("m2"))
				w.deleteObject(w.getMachine("m1"))
			},
		},
		"All": {
			reason: "A record is never emptied.", want: "10.77.0.11 10.77.0.12",
			do: func(w *clusterWorld) {
				w.setLost("m1", infrav1.MachineReleasedReason)
				w.setLost("m2", infrav1.ConflictReason, "10.77.0.66")
			},
		},
		"AllAtOnce": {
			reason: "A key that sees no machine reports all of them as lost. Then a machine that is being deployed is no better.", want: "10.77.0.11 10.77.0.12",
			do: func(w *clusterWorld) {
				w.setLost("m1", infrav1.MachineNotFoundReason, "10.77.0.11")
				w.setLost("m2", infrav1.MachineNotFoundReason, "10.77.0.12")
				w.addMachine("m3", clusterMachine{deploying: true, addresses: []string{"10.77.0.13"}})
			},
		},
		"AllAreReplaced": {
			reason: "Once all lost machines are being deleted, the next machine is the first one again.", want: "10.77.0.13",
			do: func(w *clusterWorld) {
				for _, name := range []string{"m1", "m2"} {
					w.setLost(name, infrav1.MachineReleasedReason)
					w.deleteObject(w.getMachine(name))
				}
				w.addMachine("m3", clusterMachine{deploying: true, addresses: []string{"10.77.0.13"}})
			},
		},
		"Found": {
			reason: "The loss was a mistake: the machine always belonged to the cluster.", want: "10.77.0.11 10.77.0.12",
			do: func(w *clusterWorld) {
				w.setLost("m2", infrav1.MachineNotFoundReason, "10.77.0.12")
				w.reconcileUntilSteady()
				w.setMachineStatus("m2", clusterMachine{addresses: []string{"10.77.0.12"}})
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, nil)
			w.addWithProviderID("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			w.addWithProviderID("m2", clusterMachine{addresses: []string{"10.77.0.12"}})
			w.reconcileUntilSteady()
			tc.do(w)
			w.reconcileUntilSteady()
			if got, want := w.publishedAddresses(testHost), cmp.Or(tc.want, "10.77.0.11"); got != want {
				t.Errorf("%s\nthe name points to %s, want %s", tc.reason, got, want)
			}
		})
	}
}

// TestNobodyOfTheClusterIsLeft: the condition tells that what is published is
// nobody's of the cluster.
func TestNobodyOfTheClusterIsLeft(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addWithProviderID("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.reconcileUntilSteady()
	before := w.countDNSWrites()
	w.setLost("m1", infrav1.ConflictReason, "10.77.0.11")
	wantCondition(t, w.reconcileUntilSteady(), infrav1.DNSReadyCondition, conditionFalse, infrav1.WaitingForControlPlaneReason, "the published addresses stay")
	if n := w.countDNSWrites() - before; n > 0 {
		t.Errorf("%d writes to the DNS", n)
	}
}

// TestStrangersAreNotPublishedFirst: nor does a name begin with a machine that is
// somebody else's.
func TestStrangersAreNotPublishedFirst(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{deploying: true})
	w.setLost("m1", infrav1.ConflictReason, "10.77.0.66")
	object := w.getMachine("m1")
	object.Status.Initialization.Provisioned = nil
	if err := w.client.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	w.reconcileUntilSteady()
	if got := w.publishedAddresses(testHost); got != "none" {
		t.Errorf("the name points to %s", got)
	}
}
