package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestNothingIsDone: who paused a cluster, or keeps it in hands of his own, finds
// it as it was.
func TestNothingIsDone(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*clusterv1.Cluster, *infrav1.MaasCluster)
		paused bool
	}{
		"ClusterPaused": {
			reason: "CAPMaaS reconciled while the Cluster was paused, for example during a move.",
			change: func(c *clusterv1.Cluster, _ *infrav1.MaasCluster) { c.Spec.Paused = ptr.To(true) }, paused: true,
		},
		"ObjectPaused": {
			reason: "The annotation on the object pauses it, too.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.Annotations = map[string]string{clusterv1.PausedAnnotation: "true"}
			}, paused: true,
		},
		"ExternallyManaged": {
			reason: "Somebody else manages the object and its status.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "terraform"}
			},
		},
		"NoOwner": {
			reason: "Without its Cluster nothing is known about the object.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) { m.OwnerReferences = nil },
		},
		"OtherFilter": {
			reason: "Objects with another label belong to another manager.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.Labels = map[string]string{clusterv1.WatchLabel: "blue"}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, tc.change)
			if name == "OtherFilter" {
				w.WatchFilter = "green"
			}
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			before := w.findMaasCluster()
			c := w.reconcileUntilSteady()
			if n := w.maas.Journal().Total(); n > 0 {
				t.Errorf("%s\n%d calls of MAAS", tc.reason, n)
			}
			if diff := cmp.Diff(before.Spec, c.Spec); diff != "" || len(c.Finalizers) > 0 {
				t.Errorf("%s\nfinalizers %v, spec -want +got:\n%s", tc.reason, c.Finalizers, diff)
			}
			if tc.paused {
				wantCondition(t, c, infrav1.PausedCondition, conditionTrue, clusterv1.PausedReason, "")
			} else if len(c.Status.Conditions) > 0 {
				t.Errorf("%s\nthere are conditions: %v", tc.reason, c.Status.Conditions)
			}
		})
	}
}

// TestWatchFilter: with its label an object is reconciled.
func TestWatchFilter(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
		m.Labels = map[string]string{clusterv1.WatchLabel: "green"}
	})
	w.WatchFilter = "green"
	if c := w.reconcileUntilSteady(); !c.Status.Ready {
		t.Errorf("it is not ready: %+v", c.Status)
	}
}

// TestDeletionOrder: machines go first, then the name, then the object; a name that was
// never made needs no MAAS.
func TestDeletionOrder(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.addMachine("m2", clusterMachine{addresses: []string{"10.77.0.12"}})
	w.addMachine("w1", clusterMachine{worker: true})
	w.reconcileUntilSteady()
	w.deleteObject(w.findMaasCluster())
	c := w.reconcileUntilSteady()
	wantCondition(t, c, infrav1.DeletingCondition, conditionTrue, infrav1.WaitingForMachinesReason, "3 MaasMachines")
	wantCondition(t, c, infrav1.ReadyCondition, conditionFalse, infrav1.DeletingReason, "m1, m2, w1")

	// CAPMaaS no longer wrote the record by then, and a machine that waited for
	// that was stuck.
	w.deleteObject(w.getMachine("m1"))
	w.reconcileUntilSteady()
	if got := w.publishedAddresses(testHost); got != "10.77.0.12" {
		t.Errorf("the name points to %s, while one of two machines is going", got)
	}
	for _, name := range []string{"m2", "w1"} {
		w.deleteObject(w.getMachine(name))
	}
	for _, name := range []string{"m1", "m2", "w1"} {
		w.removeMachineFinalizers(name)
	}
	// CAPMaaS left the name behind for ever.
	if c := w.reconcileUntilSteady(); c != nil {
		t.Errorf("it is still there: %+v", c.Status.Conditions)
	}
	if got := w.publishedAddresses(testHost); got != "none" {
		t.Errorf("the name points to %s", got)
	}
}

// TestDeletionWaitsForMAAS: a record that cannot be removed holds the object, and
// says why.
func TestDeletionWaitsForMAAS(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.reconcileUntilSteady()
	w.deleteObject(w.getMachine("m1"))
	w.removeMachineFinalizers("m1")
	fault := w.maas.AddFault(sim.Fault{Path: "ipaddresses/", Op: "release", Kind: sim.FaultStatus, Status: 409, Body: "no"})
	w.deleteObject(w.findMaasCluster())
	c := w.reconcileUntilSteady()
	wantCondition(t, c, infrav1.DeletingCondition, conditionTrue, infrav1.RemovingDNSReason, testHost)
	w.maas.RemoveFault(fault)
	if c := w.reconcileUntilSteady(); c != nil {
		t.Errorf("it is still there: %+v", c.Status.Conditions)
	}
}

// TestDeletionWithoutCredentials: what nobody can remove any more does not hold the
// object without saying what leads out of it.
func TestDeletionWithoutCredentials(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.reconcileUntilSteady()
	w.deleteObject(w.getMachine("m1"))
	w.removeMachineFinalizers("m1")
	w.deleteObject(controllertest.CredentialObjects(w.maas)[0])
	w.now = w.now.Add(10 * time.Minute)
	w.deleteObject(w.findMaasCluster())
	wantCondition(t, w.reconcileUntilSteady(), infrav1.DeletingCondition, conditionTrue, infrav1.DeletionBlockedReason, infrav1.ClusterFinalizer)
}

// TestDeletionWithoutCluster: what is left in MAAS goes even where the Cluster was
// taken away by force.
func TestDeletionWithoutCluster(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.reconcileUntilSteady()
	w.deleteObject(newCluster())
	w.deleteObject(w.findMaasCluster())
	wantCondition(t, w.reconcileUntilSteady(), infrav1.DeletingCondition, conditionTrue, infrav1.WaitingForMachinesReason, "m1")
	w.deleteObject(w.getMachine("m1"))
	w.removeMachineFinalizers("m1")
	if c := w.reconcileUntilSteady(); c != nil || w.publishedAddresses(testHost) != "none" {
		t.Errorf("left: %v, and the name points to %s", c, w.publishedAddresses(testHost))
	}
}

// TestDeletionOfWhatNeverWas: a cluster without a record goes without MAAS.
func TestDeletionOfWhatNeverWas(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
		m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.1.2.3", Port: 6443}
	})
	w.reconcileUntilSteady()
	for _, o := range controllertest.CredentialObjects(w.maas) {
		w.deleteObject(o)
	}
	w.now = w.now.Add(time.Hour)
	w.deleteObject(w.findMaasCluster())
	if c := w.reconcileUntilSteady(); c != nil {
		t.Errorf("it is still there: %+v", c.Status.Conditions)
	}
}

// TestFailureDomains: the zones of the spec, or those with room.
func TestFailureDomains(t *testing.T) {
	t.Parallel()
	model := sim.Model{
		Zones:    []string{"az1", "az2", "az3", "empty"},
		Hosts:    []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384, Zone: "az1"}, {Name: "h3", Cores: 8, MemoryMiB: 16384, Zone: "az3"}},
		Machines: []sim.MachineModel{{Hostname: "bm2", Zone: "az2"}, {Hostname: "gone", Zone: "empty", Status: "Broken"}},
	}
	cases := map[string]struct {
		reason  string
		given   []string
		machine clusterMachine
		want    []string
		failure string
	}{
		"Discovered": {reason: "VM hosts and Ready machines make room in a zone. A Broken machine does not.", want: []string{"az1", "az2", "az3"}},
		"Given":      {reason: "The spec's zones count, whatever is in them.", given: []string{"empty", "az1"}, want: []string{"az1", "empty"}},
		"Missing": {
			reason: "A zone that MAAS does not have is a mistake.", given: []string{"az1", "az9"}, want: []string{"az1"},
			failure: infrav1.ZoneNotFoundReason,
		},
		"InUse": {
			reason: "A zone without room stays while machines of the cluster are there.", machine: clusterMachine{zone: "empty"},
			want: []string{"az1", "az2", "az3", "empty"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, model, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) { m.Spec.FailureDomains = tc.given })
			if tc.machine.zone != "" {
				w.addMachine("m1", tc.machine)
			}
			c := w.reconcileUntilSteady()
			var want infrav1.FailureDomains
			for _, zone := range tc.want {
				want = append(want, clusterv1.FailureDomain{Name: zone, ControlPlane: ptr.To(true)})
			}
			if diff := cmp.Diff(want, c.Status.FailureDomains); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if tc.failure == "" {
				wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionTrue, infrav1.FailureDomainsReadyReason, "")
			} else {
				wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionFalse, tc.failure, "az9")
			}
			if c.Status.Ready != (tc.failure == "") {
				t.Errorf("%s\nready: %v", tc.reason, c.Status.Ready)
			}
		})
	}
}

// TestZoneThatIsMadeLater: who makes the missing zone need not wait for a cache.
func TestZoneThatIsMadeLater(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) { m.Spec.FailureDomains = []string{"az1"} })
	w.changeMaasCluster(func(m *infrav1.MaasCluster) { m.Spec.FailureDomains = []string{"az1", "az7"} })
	wantCondition(t, w.reconcileUntilSteady(), infrav1.FailureDomainsReadyCondition, conditionFalse, infrav1.ZoneNotFoundReason, "az7")
	w.changeMaasCluster(func(m *infrav1.MaasCluster) { m.Spec.FailureDomains = []string{"az1", "default"} })
	if c := w.reconcileUntilSteady(); !c.Status.Ready {
		t.Errorf("it is not ready: %+v", c.Status)
	}
}

// TestFailureDomainsOfOlderVersions: a stored status may have a map in the place
// of the list; it is read, and a list is written.
func TestFailureDomainsOfOlderVersions(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
		stored := `{"failureDomains": {"az1": {"controlPlane": true}, "old": {"controlPlane": true}}, "ready": true}`
		if err := json.Unmarshal([]byte(stored), &m.Status); err != nil {
			t.Fatal(err)
		}
	})
	if len(w.findMaasCluster().Status.FailureDomains) != 2 {
		t.Fatalf("the map was not read: %+v", w.findMaasCluster().Status)
	}
	want := infrav1.FailureDomains{{Name: "az1", ControlPlane: ptr.To(true)}}
	if diff := cmp.Diff(want, w.reconcileUntilSteady().Status.FailureDomains); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMAASOutageChangesNothing: a MAAS that does not answer takes nothing back
// that was provisioned.
func TestMAASOutageChangesNothing(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	before := w.reconcileUntilSteady()
	w.now = w.now.Add(time.Hour)
	w.Reconciler.Sites = w.newSites() // nothing is cached
	w.maas.AddFault(sim.Fault{Kind: sim.FaultStatus, Status: 400, Body: "broken"})
	c := w.reconcileUntilSteady()
	wantCondition(t, c, infrav1.ReadyCondition, conditionFalse, infrav1.NotReadyReason, "")
	if diff := cmp.Diff(before.Status.FailureDomains, c.Status.FailureDomains); diff != "" || !c.Status.Ready || !*c.Status.Initialization.Provisioned {
		t.Errorf("ready %v, zones -want +got:\n%s", c.Status.Ready, diff)
	}
}

// TestLXDReadyCounts: CAPMaaS said True of nodes whose LXD was not initialised,
// and crashed on one without a hostname.
func TestLXDReadyCounts(t *testing.T) {
	t.Parallel()
	ready := &metav1.Condition{Type: infrav1.LXDReadyCondition, Status: conditionTrue, Reason: infrav1.LXDReadyReason}
	pending := &metav1.Condition{Type: infrav1.LXDReadyCondition, Status: conditionFalse, Reason: infrav1.LXDSetupPendingReason}
	failed := &metav1.Condition{Type: infrav1.LXDReadyCondition, Status: conditionFalse, Reason: infrav1.LXDFailedReason, Message: "the pool could not be made"}
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) { m.Spec.LXDControlPlaneCluster = ptr.To(true) })
	steps := []struct {
		do             func()
		status         metav1.ConditionStatus
		reason, saying string
	}{
		{func() {}, conditionFalse, infrav1.LXDSetupPendingReason, "0 of 0"},
		{func() { w.addMachine("m1", clusterMachine{bareMetal: true}) }, conditionFalse, infrav1.LXDSetupPendingReason, "0 of 1"},
		{func() { w.addMachine("m2", clusterMachine{bareMetal: true, host: ready}) }, conditionFalse, infrav1.LXDSetupPendingReason, "1 of 2"},
		{func() { w.addMachine("vm", clusterMachine{}) }, conditionFalse, infrav1.LXDSetupPendingReason, "1 of 2"},
		{func() { w.setMachineStatus("m1", clusterMachine{bareMetal: true, host: pending}) }, conditionFalse, infrav1.LXDSetupPendingReason, "1 of 2"},
		{func() { w.setMachineStatus("m1", clusterMachine{bareMetal: true, host: failed}) }, conditionFalse, infrav1.LXDFailedReason, "1 of 2 machines are LXD hosts; m1: the pool"},
		{func() { w.setMachineStatus("m1", clusterMachine{bareMetal: true, host: ready}) }, conditionTrue, infrav1.LXDReadyReason, "2 of 2"},
	}
	for _, step := range steps {
		step.do()
		wantCondition(t, w.reconcileUntilSteady(), infrav1.LXDReadyCondition, step.status, step.reason, step.saying)
	}
	w.changeMaasCluster(func(m *infrav1.MaasCluster) { m.Spec.LXDControlPlaneCluster = nil })
	if c := w.reconcileUntilSteady(); conditions.Has(c, infrav1.LXDReadyCondition) {
		t.Error("it is still said of a cluster whose machines shall be no hosts")
	}
}

// workloadAPIs are the API servers of workload clusters, up or down.
type workloadAPIs struct{ err error }

func (w workloadAPIs) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return nil, w.err
}

// TestAPIServerAvailable: it is, when it can be reached.
func TestAPIServerAvailable(t *testing.T) {
	t.Parallel()
	up := func(c *clusterv1.Cluster, _ *infrav1.MaasCluster) {
		c.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	}
	cases := map[string]struct {
		reason    string
		change    func(*clusterv1.Cluster, *infrav1.MaasCluster)
		workloads controller.Workloads
		status    metav1.ConditionStatus
	}{
		"NotInitialised": {"There is no API server before kubeadm has finished.", nil, workloadAPIs{}, conditionFalse},
		"Down":           {"The API server of the cluster cannot be reached.", up, workloadAPIs{errors.New("no route")}, conditionFalse},
		"Up":             {"The API server of the cluster answers.", up, workloadAPIs{}, conditionTrue},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, tc.change)
			w.Workloads = tc.workloads
			c := w.reconcileUntilSteady()
			if got := conditions.Get(c, infrav1.APIServerAvailableCondition); got == nil || got.Status != tc.status {
				t.Errorf("%s\n%+v", tc.reason, got)
			}
			if !c.Status.Ready {
				t.Errorf("%s\nmachines cannot be made", tc.reason)
			}
		})
	}
}

// TestOneEventForEachChange: each change is told once.
func TestOneEventForEachChange(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) { m.Spec.FailureDomains = []string{"az9"} })
	w.reconcileUntilSteady()
	w.reconcileUntilSteady()
	var got []string
	for len(w.recorder.Events) > 0 {
		got = append(got, <-w.recorder.Events)
	}
	if len(got) != 1 || !strings.Contains(got[0], "Warning ZoneNotFound MAAS has no zone az9") {
		t.Errorf("%q", got)
	}
}

// TestEventsOfAClusterComeOnce: what could not be written down is told once, when
// it is.
func TestEventsOfAClusterComeOnce(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.reconcileUntilSteady()
	w.changeMaasCluster(func(c *infrav1.MaasCluster) { c.Spec.FailureDomains = []string{"az9"} })
	w.refusesWrites = true
	for range 3 {
		if _, err := w.reconcileOnce(); !errors.Is(err, errAPIServerDown) {
			t.Fatalf("got %v", err)
		}
	}
	if n := len(w.recorder.Events); n > 0 {
		t.Errorf("%d events tell what was never written: %s", n, <-w.recorder.Events)
	}
	w.refusesWrites = false
	w.reconcileUntilSteady()
	if n := len(w.recorder.Events); n != 1 {
		t.Errorf("told %d times", n)
	}
	w.changeMaasCluster(func(c *infrav1.MaasCluster) { c.Spec.FailureDomains = nil })
	w.reconcileUntilSteady()
	var told []string
	for len(w.recorder.Events) > 0 {
		told = append(told, <-w.recorder.Events)
	}
	controllertest.WantSentences(t, told)
}
