package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/cluster"
)

// asArrived is a MaasCluster as "clusterctl move" brings it, or as a user forges it: with
// the annotation and the finalizer, and without a status.
func asArrived(name, host string) func(*clusterv1.Cluster, *infrav1.MaasCluster) {
	return func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
		m.CreationTimestamp = metav1.NewTime(time.Now().Truncate(time.Second))
		m.Annotations = map[string]string{cluster.DNSNameAnnotation: name}
		m.Finalizers = []string{infrav1.ClusterFinalizer}
		m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: host, Port: 6443}
	}
}

// TestForgedNameIsNobodys: whoever can make objects beside a paused Cluster can forge the
// annotation. The record of a foreign name is neither overwritten nor removed for that.
func TestForgedNameIsNobodys(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		host     string // of the endpoint, where it is not the forged name
		paused   bool
		away     bool // MAAS cannot be reached at the first looks
		deleted  bool // before anything else is seen
		machines bool // stay until the end
		conflict bool
	}{
		"AtOnce":       {reason: "The object is reconciled at once.", conflict: true},
		"Paused":       {reason: "The object was seen while it was paused, which is a condition.", paused: true, conflict: true},
		"MAASIsAway":   {reason: "The object has other conditions before the record is seen.", away: true, conflict: true},
		"AnotherName":  {reason: "The endpoint has a name of its own.", host: "api.maas"},
		"OutsideName":  {reason: "Somebody else publishes the endpoint.", host: "api.example.org"},
		"Deleted":      {reason: "The object is being deleted when it is first seen.", deleted: true},
		"DeletedSlow":  {reason: "The deletion waits for a machine.", deleted: true, machines: true},
		"PausedDelete": {reason: "The object was paused, and is then deleted.", paused: true, deleted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := "victim.maas"
			if tc.host != "" {
				host = tc.host
			}
			w := newClusterWorld(t, sim.Model{}, asArrived("victim.maas", host))
			publishByOther(t, w, "victim", "10.77.0.99")
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			if tc.paused {
				w.setPaused(true)
				w.reconcileUntilSteady()
				w.setPaused(false)
			}
			if tc.away {
				sites := w.Sites
				w.Sites = failingSites{errors.New("MAAS is away")}
				w.reconcileUntilSteady()
				w.Sites = sites
			}
			if tc.deleted {
				if !tc.machines {
					w.deleteObject(w.getMachine("m1"))
					w.removeMachineFinalizers("m1")
				}
				w.deleteObject(w.findMaasCluster())
			}
			c := w.reconcileUntilSteady()
			if tc.conflict {
				wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, infrav1.ConflictReason, "10.77.0.99")
			}
			if got := w.publishedAddresses("victim.maas"); got != "10.77.0.99" {
				t.Errorf("%s\nthe victim's name points to %s", tc.reason, got)
			}
			switch {
			case !tc.deleted:
				w.deleteCluster()
			case tc.machines:
				w.deleteObject(w.getMachine("m1"))
				w.removeMachineFinalizers("m1")
				w.reconcileUntilSteady()
			}
			if c := w.findMaasCluster(); c != nil {
				t.Errorf("%s\nit is still there: %+v", tc.reason, c.Status.Conditions)
			}
			if got := w.publishedAddresses("victim.maas"); got != "10.77.0.99" {
				t.Errorf("%s\nafter the deletion the victim's name points to %s", tc.reason, got)
			}
		})
	}
}

// failingSites finds no MAAS.
type failingSites struct{ error }

// Site implements controller.Sites.
func (f failingSites) Site(context.Context, *infrav1.MaasCluster) (*controller.Site, error) {
	return nil, f.error
}

// setPaused pauses the Cluster, or no longer.
func (w *clusterWorld) setPaused(on bool) {
	w.t.Helper()
	cluster := &clusterv1.Cluster{}
	if err := w.client.Get(w.t.Context(), clusterKey, cluster); err != nil {
		w.t.Fatal(err)
	}
	cluster.Spec.Paused = ptr.To(on)
	if err := w.client.Update(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
}

// TestMovedClusterGetsItsNameBack: status does not survive a move. Once the addresses of
// the machines are seen again, the record is the cluster's, and goes with it.
func TestMovedClusterGetsItsNameBack(t *testing.T) {
	t.Parallel()
	older := newOtherCluster(time.Now().Add(-time.Hour), nil)
	cases := map[string]struct {
		reason string
		rival  *infrav1.MaasCluster
		goes   bool // as soon as it has arrived
		empty  bool // nothing is published
	}{
		"Lives":    {reason: "The cluster continues to run."},
		"Goes":     {reason: "The cluster is deleted soon after the move."},
		"Wanted":   {reason: "An older cluster wants the name and never had it.", rival: older},
		"Unbooked": {reason: "The cluster was moved before its first machine had an address.", empty: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, asArrived("api.maas", "api.maas"))
			if tc.rival != nil {
				if err := w.client.Create(t.Context(), tc.rival); err != nil {
					t.Fatal(err)
				}
			}
			if !tc.empty {
				publishByOther(t, w, "api", "10.77.0.11")
			}
			w.addWithProviderID("m1", clusterMachine{deploying: true})
			if tc.goes {
				w.deleteObject(w.findMaasCluster())
				w.deleteObject(w.getMachine("m1"))
			}
			c := w.reconcileUntilSteady()
			if !tc.goes && !tc.empty {
				wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, infrav1.ConflictReason, "")
			}
			w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			c = w.reconcileUntilSteady()
			if got := w.publishedAddresses("api.maas"); got != "10.77.0.11" {
				t.Errorf("%s\nthe name points to %s", tc.reason, got)
			}
			if c.Annotations[controller.UnprovenAnnotation] != "" {
				t.Errorf("%s\nit is still unproven: %+v", tc.reason, c.Status.Conditions)
			}
			if tc.goes {
				w.removeMachineFinalizers("m1")
				w.reconcileUntilSteady()
			} else {
				wantCondition(t, c, infrav1.DNSReadyCondition, conditionTrue, infrav1.DNSReadyReason, "")
				w.deleteCluster()
			}
			if got := w.publishedAddresses("api.maas"); got != "none" {
				t.Errorf("%s\nafter the deletion the name points to %s", tc.reason, got)
			}
		})
	}
}

// TestMovedClusterFollowsSoon: the manager looks again by itself, although nothing of the
// machines that wakes it may change.
func TestMovedClusterFollowsSoon(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, asArrived("api.maas", "api.maas"))
	publishByOther(t, w, "api", "10.77.0.11")
	w.addWithProviderID("m1", clusterMachine{deploying: true})
	w.reconcileUntilSteady()
	result, err := w.reconcileOnce()
	if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > time.Minute {
		t.Errorf("it looks again after %s, %v", result.RequeueAfter, err)
	}
}

// limitedSites limits what a MAAS is used for.
type limitedSites struct {
	controller.Sites
	limits infrav1.IdentityLimits
}

// Site implements controller.Sites.
func (l limitedSites) Site(ctx context.Context, c *infrav1.MaasCluster) (*controller.Site, error) {
	site, err := l.Sites.Site(ctx, c)
	if err != nil {
		return nil, err
	}
	limited := *site
	limited.Limits = l.limits
	return &limited, nil
}

// TestDomainLimitsHoldAtTheEnd: a cluster may not publish in a domain that its identity
// does not allow, neither while it lives nor while its machines go.
func TestDomainLimitsHoldAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.Sites = limitedSites{w.Sites, infrav1.IdentityLimits{Domains: []string{"corp"}}}
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	wantCondition(t, w.reconcileUntilSteady(), infrav1.DNSReadyCondition, conditionFalse, infrav1.InvalidSpecReason, "spec.dnsDomain")
	w.deleteObject(w.findMaasCluster())
	w.reconcileUntilSteady()
	if got := w.publishedAddresses(testHost); got != "none" {
		t.Errorf("the name points to %s", got)
	}
}
