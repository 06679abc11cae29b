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

// lose changes what is seen of a MaasMachine that is no longer the cluster's, or
// may not be.
func (w *clusterWorld) lose(name, reason string, addresses ...string) {
	w.t.Helper()
	w.see(name, member{addresses: addresses})
	object := w.member(name)
	conditions.Set(object, metav1.Condition{Type: infrav1.MachineDeployedCondition, Status: metav1.ConditionFalse, Reason: reason})
	if err := w.client.Status().Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// addKnown makes a machine of the control plane that has its providerID, as all
// have that were deployed once.
func (w *clusterWorld) addKnown(name string, m member) {
	w.t.Helper()
	w.add(name, m)
	object := w.member(name)
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
			reason: "Somebody else has it.",
			do:     func(w *clusterWorld) { w.lose("m2", infrav1.ConflictReason, "10.77.0.12") },
		},
		"ConflictElsewhere": {
			reason: "Nor is an address published that it has for somebody else.",
			do:     func(w *clusterWorld) { w.lose("m2", infrav1.ConflictReason, "10.77.0.66") },
		},
		"Released": {
			reason: "It has no address any more, which is not as after a move.",
			do:     func(w *clusterWorld) { w.lose("m2", infrav1.MachineReleasedReason) },
		},
		"NotFound": {
			reason: "What was seen last of it stays in its status.",
			do:     func(w *clusterWorld) { w.lose("m2", infrav1.MachineNotFoundReason, "10.77.0.12") },
		},
		"Broken": {
			reason: "It does not serve while somebody works on it.",
			do:     func(w *clusterWorld) { w.lose("m2", infrav1.MachineStateUndefinedReason, "10.77.0.12") },
		},
		"Off": {
			reason: "It does not serve while it is switched off.",
			do:     func(w *clusterWorld) { w.lose("m2", infrav1.MachinePoweredOffReason, "10.77.0.12") },
		},
		"BesideAnUnseenOne": {
			reason: "The address of one that was not seen again yet after a move stays; that of a lost one is known, and goes.",
			do: func(w *clusterWorld) {
				w.see("m1", member{})
				w.lose("m2", infrav1.MachineNotFoundReason, "10.77.0.12")
			},
		},
		"BesideOneThatGoes": {
			reason: "Who serves until it is gone is better than nobody.",
			do: func(w *clusterWorld) {
				w.remove(w.member("m1"))
				w.lose("m2", infrav1.ConflictReason, "10.77.0.12")
			},
		},
		"GoesItself": {
			reason: "Its deletion does not make it the cluster's again.",
			do: func(w *clusterWorld) {
				w.lose("m2", infrav1.ConflictReason, "10.77.0.12")
				w.remove(w.member("m2"))
				w.remove(w.member("m1"))
			},
		},
		"All": {
			reason: "A record is never emptied.", want: "10.77.0.11 10.77.0.12",
			do: func(w *clusterWorld) {
				w.lose("m1", infrav1.MachineReleasedReason)
				w.lose("m2", infrav1.ConflictReason, "10.77.0.66")
			},
		},
		"AllAtOnce": {
			reason: "A key that sees none of them says the same of all, and then who is being deployed is no better.", want: "10.77.0.11 10.77.0.12",
			do: func(w *clusterWorld) {
				w.lose("m1", infrav1.MachineNotFoundReason, "10.77.0.11")
				w.lose("m2", infrav1.MachineNotFoundReason, "10.77.0.12")
				w.add("m3", member{deploying: true, addresses: []string{"10.77.0.13"}})
			},
		},
		"AllAreReplaced": {
			reason: "Once they are being deleted, the next one is the first again.", want: "10.77.0.13",
			do: func(w *clusterWorld) {
				for _, name := range []string{"m1", "m2"} {
					w.lose(name, infrav1.MachineReleasedReason)
					w.remove(w.member(name))
				}
				w.add("m3", member{deploying: true, addresses: []string{"10.77.0.13"}})
			},
		},
		"Found": {
			reason: "It was a mistake: the machine is the cluster's all the time.", want: "10.77.0.11 10.77.0.12",
			do: func(w *clusterWorld) {
				w.lose("m2", infrav1.MachineNotFoundReason, "10.77.0.12")
				w.settle()
				w.see("m2", member{addresses: []string{"10.77.0.12"}})
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, nil)
			w.addKnown("m1", member{addresses: []string{"10.77.0.11"}})
			w.addKnown("m2", member{addresses: []string{"10.77.0.12"}})
			w.settle()
			tc.do(w)
			w.settle()
			if got, want := w.record(testHost), cmp.Or(tc.want, "10.77.0.11"); got != want {
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
	w.addKnown("m1", member{addresses: []string{"10.77.0.11"}})
	w.settle()
	before := w.dnsWrites()
	w.lose("m1", infrav1.ConflictReason, "10.77.0.11")
	wantCondition(t, w.settle(), infrav1.DNSReadyCondition, isFalse, infrav1.WaitingForControlPlaneReason, "what was published stays")
	if n := w.dnsWrites() - before; n > 0 {
		t.Errorf("%d writes to the DNS", n)
	}
}

// TestStrangersAreNotPublishedFirst: nor does a name begin with a machine that is
// somebody else's.
func TestStrangersAreNotPublishedFirst(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.add("m1", member{deploying: true})
	w.lose("m1", infrav1.ConflictReason, "10.77.0.66")
	object := w.member("m1")
	object.Status.Initialization.Provisioned = nil
	if err := w.client.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if got := w.record(testHost); got != "none" {
		t.Errorf("the name points to %s", got)
	}
}
