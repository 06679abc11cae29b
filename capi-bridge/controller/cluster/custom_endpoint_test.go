package cluster_test

import (
	"testing"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// setCustomEndpoint says, or no longer says, that somebody else publishes the endpoint.
func setCustomEndpoint(is bool) func(*infrav1.MaasCluster) {
	return func(m *infrav1.MaasCluster) {
		delete(m.Annotations, infrav1.CustomEndpointAnnotation)
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		if is {
			m.Annotations[infrav1.CustomEndpointAnnotation] = "true"
		}
	}
}

// deleteCluster deletes the cluster with its machine m1.
func (w *clusterWorld) deleteCluster() {
	w.t.Helper()
	w.deleteObject(w.getMachine("m1"))
	w.removeMachineFinalizers("m1")
	w.deleteObject(w.findMaasCluster())
	if c := w.reconcileUntilSteady(); c != nil {
		w.t.Errorf("it is still there: %+v", c.Status.Conditions)
	}
}

// TestCustomNameIsNotTakenOver: that nobody says any longer that somebody else
// publishes the endpoint does not make his record the cluster's. It is looked at
// first, and neither changed nor removed where it leads elsewhere.
func TestCustomNameIsNotTakenOver(t *testing.T) {
	t.Parallel()
	named := func(host string) func(*clusterv1.Cluster, *infrav1.MaasCluster) {
		return func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
			m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: host, Port: 6443}
		}
	}
	cases := map[string]struct {
		reason string
		change func(*clusterv1.Cluster, *infrav1.MaasCluster)
		before func(w *clusterWorld) // then somebody else publishes the name
		label  string
	}{
		"FromTheBeginning": {
			reason: "The name never belonged to the cluster.", label: "www",
			change: named("www.maas"), before: func(w *clusterWorld) { w.changeMaasCluster(setCustomEndpoint(true)) },
		},
		"BeforeItIsProvisioned": {
			reason: "A cluster without room writes its status, too.", label: "www",
			change: func(c *clusterv1.Cluster, m *infrav1.MaasCluster) {
				named("www.maas")(c, m)
				m.Spec.FailureDomains = []string{"nowhere"}
			},
			before: func(w *clusterWorld) { w.changeMaasCluster(setCustomEndpoint(true)) },
		},
		"WithoutOurAnnotation": {
			reason: "A replacement of the object removes all annotations.", label: "www", change: named("www.maas"),
			before: func(w *clusterWorld) {
				w.changeMaasCluster(setCustomEndpoint(true))
				w.reconcileUntilSteady()
				w.changeMaasCluster(func(m *infrav1.MaasCluster) { m.Annotations = nil })
			},
		},
		"GivenAway": {
			reason: "The name belonged to the cluster, and then to somebody else.", label: "api", change: named("api.maas"),
			before: func(w *clusterWorld) { w.reconcileUntilSteady(); w.changeMaasCluster(setCustomEndpoint(true)) },
		},
		"GeneratedAndGivenAway": {
			reason: "It does not matter that we made the name up.", label: "c1-7a01d5",
			before: func(w *clusterWorld) { w.reconcileUntilSteady(); w.changeMaasCluster(setCustomEndpoint(true)) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, tc.change)
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			tc.before(w)
			publishByOther(t, w, tc.label, "10.77.0.99")
			w.reconcileUntilSteady()
			w.changeMaasCluster(setCustomEndpoint(false))
			c := w.reconcileUntilSteady()
			wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, infrav1.ConflictReason, "10.77.0.99")
			if got := w.publishedAddresses(tc.label + ".maas"); got != "10.77.0.99" {
				t.Errorf("%s\nsomebody else's name points to %s", tc.reason, got)
			}
			w.deleteCluster()
			if got := w.publishedAddresses(tc.label + ".maas"); got != "10.77.0.99" {
				t.Errorf("%s\nafter the deletion it points to %s", tc.reason, got)
			}
		})
	}
}

// TestCustomNameStays: a record under the annotation is not removed with the
// cluster, whoever made it, and whenever the annotation came.
func TestCustomNameStays(t *testing.T) {
	t.Parallel()
	cases := map[string]func(w *clusterWorld){
		"Settled":         func(w *clusterWorld) { w.changeMaasCluster(setCustomEndpoint(true)); w.reconcileUntilSteady() },
		"WithTheDeletion": func(w *clusterWorld) { w.changeMaasCluster(setCustomEndpoint(true)) },
		"OffAgain": func(w *clusterWorld) {
			w.changeMaasCluster(setCustomEndpoint(true))
			w.reconcileUntilSteady()
			w.changeMaasCluster(setCustomEndpoint(false))
		},
	}
	for name, do := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, nil)
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			w.reconcileUntilSteady()
			do(w)
			publishByOther(t, w, "c1-7a01d5", "10.77.0.99")
			w.deleteCluster()
			if got := w.publishedAddresses(testHost); got != "10.77.0.99" {
				t.Errorf("the name points to %s", got)
			}
		})
	}
}

// TestCustomByMistake: a name that still leads to the cluster's machines, or that
// MAAS does not have, is the cluster's again once the annotation is off.
func TestCustomByMistake(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(w *clusterWorld){
		"Ours": func(w *clusterWorld) { w.reconcileUntilSteady() },
		"None": func(*clusterWorld) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.maas", Port: 6443}
			})
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			before(w)
			w.changeMaasCluster(setCustomEndpoint(true))
			w.reconcileUntilSteady()
			w.changeMaasCluster(setCustomEndpoint(false))
			w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			w.addMachine("m2", clusterMachine{addresses: []string{"10.77.0.12"}})
			if c := w.reconcileUntilSteady(); !ptr.Deref(c.Status.Initialization.Provisioned, false) {
				t.Error("it is not provisioned")
			}
			if got := w.publishedAddresses("api.maas"); got != "10.77.0.11 10.77.0.12" {
				t.Errorf("the name points to %s", got)
			}
			w.deleteObject(w.getMachine("m2"))
			w.removeMachineFinalizers("m2")
			w.deleteCluster()
			if got := w.publishedAddresses("api.maas"); got != "none" {
				t.Errorf("after the deletion it points to %s", got)
			}
		})
	}
}
