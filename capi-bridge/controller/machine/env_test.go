package machine_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/machine"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// pollInterval is how often machines are looked at that are in flight.
const pollInterval = 200 * time.Millisecond

// envWorld is a real API server with a cluster in it, a manager with the
// controller of machines, and a simulated MAAS, in real time.
type envWorld struct {
	t      *testing.T
	sim    *sim.Server
	client client.Client
	site   *controller.Site
}

// Site implements controller.Sites.
func (w *envWorld) Site(context.Context, *infrav1.MaasCluster) (*controller.Site, error) {
	return w.site, nil
}

func newEnvWorld(t *testing.T, watchFilter string) *envWorld {
	t.Helper()
	plane := kubetest.StartForTest(t, kubetest.Options{})
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no kinds of ours: %v", err)
	}
	objects, err := kubetest.ReadManifestFiles(files...)
	if err != nil {
		t.Fatal(err)
	}
	if err := plane.InstallCAPIKinds(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := plane.InstallCRDs(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
	model := machineModel()
	model.Latency = sim.Latency{Compose: 50 * time.Millisecond, Commission: 2 * time.Second, Deploy: 2 * time.Second, Release: 200 * time.Millisecond}
	w := &envWorld{t: t, sim: sim.StartServer(t, model)}
	w.connectMAAS()
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(plane.Config, ctrl.Options{
		Scheme: controllertest.Scheme(t), Metrics: server.Options{BindAddress: "0"}, LeaderElection: false,
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &machine.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Sites: w, WatchFilter: watchFilter, Recorder: mgr.GetEventRecorder("maasmachine"),
	}
	if err := r.SetupWithManager(t.Context(), mgr, ctrlcontroller.Options{MaxConcurrentReconciles: 20, SkipNameValidation: ptr.To(true), UsePriorityQueue: ptr.To(false)}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	if w.client, err = client.New(plane.Config, client.Options{Scheme: controllertest.Scheme(t)}); err != nil {
		t.Fatal(err)
	}
	w.createCluster()
	return w
}

func (w *envWorld) connectMAAS() {
	w.t.Helper()
	rows := ledger.NewMemory(nil)
	w.t.Cleanup(func() { _ = rows.Close() })
	m, err := maas.New(maas.Config{URL: w.sim.URL, APIKey: w.sim.APIKey(), Ledger: rows, Interval: pollInterval})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(m.Close)
	e, err := assembly.New(engine.Config{Machines: m.Machines, Composer: m.Hosts, Names: m.Names, Catalog: m.Catalog, Metal: m.Machines, Registrar: m.Hosts, Reports: m.Events, Ledger: rows})
	if err != nil {
		w.t.Fatal(err)
	}
	w.site = &controller.Site{VMs: e.VMs, Machines: e.Machines, Hosts: e.Hosts, RunningHosts: e.Hosts, DNS: m.DNS, Names: m.Names, Catalog: m.Catalog, Inventory: m.Hosts, Projects: e, Marks: e, RegionMarks: m.Tags, Credentials: fleetKey()}
}

func (w *envWorld) createObjects(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		if err := w.client.Create(w.t.Context(), o); err != nil {
			w.t.Fatalf("cannot make %T %s: %v", o, o.GetName(), err)
		}
	}
}

func (w *envWorld) createCluster() {
	w.t.Helper()
	objects := fleetObjects()
	cluster, maasCluster := objects[0].(*clusterv1.Cluster), objects[1].(*infrav1.MaasCluster)
	cluster.UID, cluster.ResourceVersion = "", ""
	status := cluster.Status
	w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fleetNamespace}}, cluster, maasCluster)
	cluster.Status = status
	if err := w.client.Status().Update(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
}

// addMachine makes a MaasMachine with all that it hangs on.
func (w *envWorld) addMachine(name string, spec infrav1.MaasMachineSpec, labels map[string]string) {
	w.t.Helper()
	all := map[string]string{clusterv1.ClusterNameLabel: fleetCluster}
	maps.Copy(all, labels)
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name, Labels: all},
		Spec: clusterv1.MachineSpec{
			ClusterName:       fleetCluster,
			Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To(name + "-boot")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "MaasMachine", Name: name},
		},
	}
	w.createObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name + "-boot"}, Data: map[string][]byte{"value": []byte(bootstrapUserData)},
	}, machine)
	w.createObjects(&infrav1.MaasMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name, Labels: all, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID, Controller: ptr.To(true),
		}}},
		Spec: spec,
	})
}

func (w *envWorld) listMachines() []infrav1.MaasMachine {
	w.t.Helper()
	list := &infrav1.MaasMachineList{}
	if err := w.client.List(w.t.Context(), list, client.InNamespace(fleetNamespace)); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

func (w *envWorld) waitFor(what string, within time.Duration, holds func() bool) time.Duration {
	w.t.Helper()
	begun := time.Now()
	for !holds() {
		if time.Since(begun) > within {
			w.t.Fatalf("%s: not within %s", what, within)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(begun)
}

func (w *envWorld) areAllReady() bool {
	for _, m := range w.listMachines() {
		if !conditions.IsTrue(&m, infrav1.ReadyCondition) {
			return false
		}
	}
	return true
}

// TestKubeMachines takes VMs and bare metal through their lives with a real
// manager on a real API server. They are woken when MAAS has done its part, and
// left alone once they are as wanted.
func TestKubeMachines(t *testing.T) {
	t.Parallel()
	w := newEnvWorld(t, "")
	for n := range 6 {
		w.addMachine(fmt.Sprintf("vm-%d", n), controllertest.VMMachineSpec(), nil)
	}
	w.addMachine("metal-1", controllertest.MetalMachineSpec(), nil)
	took := w.waitFor("all are ready", 2*time.Minute, w.areAllReady)
	journal := w.sim.Journal()
	looks := journal.Count("GET machines/")
	t.Logf("7 machines after %s, %d looks at machines, %d other calls of MAAS", took.Round(100*time.Millisecond), looks, journal.Total()-looks)
	if took > 25*time.Second {
		t.Errorf("nobody was woken: it took %s, and MAAS 4 s", took)
	}
	if calls := journal.Total() - looks; calls > 7*8 {
		t.Errorf("%d calls of MAAS for 7 machines: %v", calls, journal.Routes)
	}
	// On a busy machine the steps of machines share fewer looks.
	if most := int(took/pollInterval) + 7*14; looks > most {
		t.Errorf("%d looks at machines, where polls and those of the steps are at most %d", looks, most)
	}
	w.wantNothingWritten()
	w.wantEvents()
	for _, m := range w.listMachines() {
		if err := w.client.Delete(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	w.waitFor("all are gone", time.Minute, func() bool { return len(w.listMachines()) == 0 })
	if left := w.sim.Instances(); len(left) > 0 {
		t.Errorf("left in LXD: %v", left)
	}
	if n := countAcquiredMetal(w.sim.Sim); n > 0 {
		t.Errorf("%d machines are not given back", n)
	}
}

// wantNothingWritten checks that nothing is written, and MAAS not asked, once
// all is done. The last writes of machines may come some time after they are
// ready.
func (w *envWorld) wantNothingWritten() {
	w.t.Helper()
	versions := w.resourceVersions()
	w.waitFor("nothing is written for a second", time.Minute, func() bool {
		before := versions
		time.Sleep(time.Second)
		versions = w.resourceVersions()
		return maps.Equal(before, versions)
	})
	w.sim.ResetJournal()
	time.Sleep(3 * time.Second)
	for _, m := range w.listMachines() {
		if versions[m.Name] != m.ResourceVersion {
			w.t.Errorf("%s was written at rest: %s", m.Name, conditionSummary(&m))
		}
	}
	for _, c := range w.sim.Journal().Calls {
		if !strings.HasPrefix(c.Route, "GET ") {
			w.t.Errorf("at rest MAAS was asked for %s", c.Route)
		}
	}
}

// resourceVersions are the resourceVersions of the machines.
func (w *envWorld) resourceVersions() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, m := range w.listMachines() {
		all[m.Name] = m.ResourceVersion
	}
	return all
}

// wantEvents checks that what happened is told, and no secret. Events are sent beside all
// else.
func (w *envWorld) wantEvents() {
	w.t.Helper()
	list := &eventsv1.EventList{}
	w.waitFor("seven machines tell that they are deployed", time.Minute, func() bool {
		if err := w.client.List(w.t.Context(), list, client.InNamespace(fleetNamespace)); err != nil {
			w.t.Fatal(err)
		}
		ready := 0
		for _, e := range list.Items {
			if e.Reason == infrav1.MachineDeployedReason {
				ready++
			}
		}
		return ready >= 7
	})
	for _, e := range list.Items {
		if strings.Contains(e.Note, "kubeadm") || strings.Contains(e.Note, w.sim.APIKey()) {
			w.t.Errorf("a secret is told: %s", e.Note)
		}
	}
}

// TestKubeWatchFilter: only what carries the label is reconciled.
func TestKubeWatchFilter(t *testing.T) {
	t.Parallel()
	w := newEnvWorld(t, "ours")
	w.addMachine("theirs", controllertest.VMMachineSpec(), nil)
	w.addMachine("ours", controllertest.VMMachineSpec(), map[string]string{clusterv1.WatchLabel: "ours"})
	w.waitFor("ours is ready", time.Minute, func() bool {
		for _, m := range w.listMachines() {
			if m.Name == "ours" {
				return conditions.IsTrue(&m, infrav1.ReadyCondition)
			}
		}
		return false
	})
	for _, m := range w.listMachines() {
		if m.Name == "theirs" && (len(m.Finalizers) > 0 || len(m.Status.Conditions) > 0) {
			t.Errorf("theirs was reconciled: %s", conditionSummary(&m))
		}
	}
}
