package machine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/crash"
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

const (
	fleetNamespace = "fleet"
	fleetCluster   = "prod"
	// fleetManagement is the management cluster, as marks name it.
	fleetManagement = "management-uid"
)

// machineWorld is a cluster whose infrastructure is provisioned, and a simulated
// MAAS, in virtual time.
type machineWorld struct {
	t           *testing.T
	sim         *sim.Sim
	ledger      engine.Ledger
	client      client.WithWatch
	events      *events.FakeRecorder
	mu          sync.Mutex
	writes      []string       // what was written to the API server
	apiKey      string         // of the next managers; empty: the administrator's
	flakyWrites int            // three of five writes fail, from the first on; zero: none
	fate        *crash.Plan    // of all managers
	life        *crash.Process // of the manager that runs

	site      *controller.Site
	maas      *maas.Client // what the site is made of
	siteErr   error
	workloads controller.Workloads
	*machine.Reconciler
}

// machineModel is a MAAS with three zones, LXD hosts in two of them, and bare
// metal.
func machineModel() sim.Model {
	return sim.Model{
		Zones: []string{"az1", "az2"}, Pools: []string{"metal", "vms"}, Tags: []string{"gpu", "nvme"},
		Images: []string{"ubuntu/noble", "custom/k8s-1-36"},
		Hosts: []sim.HostModel{
			{Name: "host1", Cores: 16, MemoryMiB: 65536, Zone: "az1"},
			{Name: "host2", Cores: 16, MemoryMiB: 65536, Zone: "az2"},
		},
		Machines: []sim.MachineModel{
			{Hostname: "small", Cores: 4, MemoryMiB: 8192, DiskGB: 100, Zone: "az1", Tags: []string{"gpu"}},
			{Hostname: "metal", Cores: 8, MemoryMiB: 32768, DiskGB: 500, Zone: "az1", Tags: []string{"gpu", "nvme"}},
		},
		Latency: sim.Latency{Compose: time.Second, Commission: 30 * time.Second, Deploy: 60 * time.Second, Release: 10 * time.Second},
	}
}

// runInFleet runs a test in a world of its own, in virtual time.
func runInFleet(t *testing.T, model sim.Model, f func(t *testing.T, w *machineWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newMachineWorld(t, model)) })
}

func newMachineWorld(t *testing.T, model sim.Model) *machineWorld {
	t.Helper()
	s, err := sim.New(model)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	rows := ledger.NewMemory(nil)
	t.Cleanup(func() { _ = rows.Close() })
	w := &machineWorld{t: t, sim: s, ledger: rows, events: events.NewFakeRecorder(1000), fate: crash.NeverCrash()}
	w.client = controllertest.FakeAPI(t, fleetObjects()...)
	w.restartManager()
	return w
}

func fleetObjects() []client.Object {
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: fleetCluster, UID: "cluster-uid"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "MaasCluster", Name: fleetCluster,
		}},
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	return []client.Object{cluster, &infrav1.MaasCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: fleetCluster},
		Spec:       infrav1.MaasClusterSpec{DNSDomain: "maas"},
	}}
}

// Site implements controller.Sites.
func (w *machineWorld) Site(context.Context, *infrav1.MaasCluster) (*controller.Site, error) {
	return w.site, w.siteErr
}

// restartManager begins a new manager: nothing is remembered but what MAAS, the ledger
// and the API server hold.
func (w *machineWorld) restartManager() {
	w.t.Helper()
	w.life = w.fate.StartProcess(nil)
	rows := controllertest.CrashableLedger{Ledger: w.ledger, Life: w.life}
	transport := w.life.Transport(w.sim.RoundTripper(), crash.MAASCallName)
	m, err := maas.New(maas.Config{URL: "http://maas.example/MAAS", APIKey: cmp.Or(w.apiKey, w.sim.APIKey()), Transport: transport, Ledger: rows})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(m.Close)
	w.maas = m
	e, err := assembly.New(engine.Config{
		Machines: m.Machines, Composer: m.Hosts, Names: m.Names, Catalog: m.Catalog, Metal: m.Machines, Registrar: m.Hosts, Reports: m.Events, Ledger: rows,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.site = &controller.Site{
		VMs: e.VMs, Machines: e.Machines, Hosts: e.Hosts, RunningHosts: e.WithProbe(lxdProbe{w.sim}).Hosts, DNS: m.DNS, Names: m.Names, Catalog: m.Catalog, Inventory: m.Hosts, Projects: e, Marks: e, RegionMarks: m.Tags, Credentials: fleetKey(),
	}
	api := controllertest.CrashableClient(w.client, w.life, w.recordWrite)
	w.Reconciler = &machine.Reconciler{
		Client: api, APIReader: api, Sites: w, Recorder: w.events, Workloads: w.workloads,
		ManagementCluster: fleetManagement,
	}
}

var errAPIServerBusy = errors.New("the API server is busy")

// recordWrite notes a write, which the error keeps from being done.
func (w *machineWorld) recordWrite(write string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flakyWrites > 0 {
		w.flakyWrites++
		if w.flakyWrites%5 != 0 && w.flakyWrites%5 != 3 {
			return errAPIServerBusy
		}
	}
	w.writes = append(w.writes, write)
	return nil
}

const bootstrapUserData = "## template: jinja\n#cloud-config\nruncmd:\n- kubeadm join\n"

// addMachine makes a MaasMachine with its Machine and bootstrap data. change may change
// them before; nil leaves them.
func (w *machineWorld) addMachine(name string, spec infrav1.MaasMachineSpec, change func(*clusterv1.Machine, *infrav1.MaasMachine)) {
	w.t.Helper()
	labels := map[string]string{clusterv1.ClusterNameLabel: fleetCluster}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name + "-boot"}, Data: map[string][]byte{"value": []byte(bootstrapUserData)}}
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name, UID: types.UID("uid-of-" + name), Labels: labels},
		Spec:       clusterv1.MachineSpec{ClusterName: fleetCluster},
	}
	machine.Spec.Bootstrap.DataSecretName = ptr.To(secret.Name)
	object := &infrav1.MaasMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID, Controller: ptr.To(true),
		}}},
		Spec: spec,
	}
	if change != nil {
		change(machine, object)
	}
	status := object.Status.DeepCopy()
	for _, o := range []client.Object{secret, machine, object} {
		if err := w.client.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
	object.Status = *status
	if err := w.client.Status().Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *machineWorld) getMachine(name string) *infrav1.MaasMachine {
	w.t.Helper()
	m := &infrav1.MaasMachine{}
	if err := w.client.Get(w.t.Context(), fleetKeyOf(name), m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *machineWorld) isGone(name string) bool {
	w.t.Helper()
	err := w.client.Get(w.t.Context(), fleetKeyOf(name), &infrav1.MaasMachine{})
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return err != nil
}

func fleetKeyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: fleetNamespace, Name: name}
}

// reconcileOnce reconciles once.
func (w *machineWorld) reconcileOnce(name string) ctrl.Result {
	w.t.Helper()
	res, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: fleetKeyOf(name)})
	if err != nil {
		w.t.Fatalf("reconcile of %s: %v", name, err)
	}
	return res
}

// reconcileUntil reconciles in time, as a manager would, until a condition has this
// reason.
func (w *machineWorld) reconcileUntil(name, condition, reason string) *infrav1.MaasMachine {
	w.t.Helper()
	for begun := time.Now(); time.Since(begun) < 30*time.Minute; {
		res := w.reconcileOnce(name)
		if m := w.getMachine(name); conditions.GetReason(m, condition) == reason {
			return m
		}
		time.Sleep(min(max(res.RequeueAfter, time.Second), 5*time.Second))
	}
	w.t.Fatalf("%s never has the reason %s of %s: %s", name, reason, condition, conditionSummary(w.getMachine(name)))
	return nil
}

func (w *machineWorld) reconcileUntilReady(name string) *infrav1.MaasMachine {
	w.t.Helper()
	return w.reconcileUntil(name, infrav1.ReadyCondition, infrav1.ReadyReason)
}

// reconcileConcurrently reconciles several at the same time, until each has the reason.
func (w *machineWorld) reconcileConcurrently(names []string, reason string) {
	w.t.Helper()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			for range 200 {
				res, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: fleetKeyOf(name)})
				if err != nil {
					w.t.Errorf("reconcile of %s: %v", name, err)
					return
				}
				if conditions.GetReason(w.getMachine(name), infrav1.ReadyCondition) == reason {
					return
				}
				time.Sleep(min(max(res.RequeueAfter, time.Second), 5*time.Second))
			}
			w.t.Errorf("%s never is %s: %s", name, reason, conditionSummary(w.getMachine(name)))
		})
	}
	all.Wait()
}

// removeMachine deletes the object and reconciles until it is gone.
func (w *machineWorld) removeMachine(name string) {
	w.t.Helper()
	w.markDeleted(name)
	w.reconcileUntilGone(name)
}

func (w *machineWorld) reconcileUntilGone(name string) {
	w.t.Helper()
	for begun := time.Now(); !w.isGone(name); {
		if time.Since(begun) > 30*time.Minute {
			w.t.Fatalf("%s is never gone: %s", name, conditionSummary(w.getMachine(name)))
		}
		res := w.reconcileOnce(name)
		time.Sleep(min(max(res.RequeueAfter, time.Second), 5*time.Second))
	}
}

func (w *machineWorld) markDeleted(name string) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.getMachine(name)); err != nil {
		w.t.Fatal(err)
	}
}

// conditionSummary are the conditions in words.
func conditionSummary(m *infrav1.MaasMachine) string {
	var all []string
	for _, c := range m.Status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(all, "\n")
}

// wantCondition checks a condition, and that its message says all of the parts.
func (w *machineWorld) wantCondition(m *infrav1.MaasMachine, kind string, status metav1.ConditionStatus, reason string, parts ...string) {
	w.t.Helper()
	c := conditions.Get(m, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		w.t.Fatalf("want %s=%s (%s), got\n%s", kind, status, reason, conditionSummary(m))
	}
	for _, part := range parts {
		if !strings.Contains(c.Message, part) {
			w.t.Errorf("the message of %s does not say %q: %s", kind, part, c.Message)
		}
	}
}

// maasMachine is what MAAS has of a machine, by hostname or system id.
func (w *machineWorld) maasMachine(name string) sim.Machine {
	w.t.Helper()
	m, ok := w.sim.Machine(name)
	if !ok {
		w.t.Fatalf("MAAS has no machine %s", name)
	}
	return m
}

func (w *machineWorld) editMaasMachine(systemID string, e sim.MachineEdit) {
	w.t.Helper()
	if err := w.sim.EditMachine(systemID, e); err != nil {
		w.t.Fatal(err)
	}
}

func (w *machineWorld) changeCluster(f func(*infrav1.MaasCluster)) {
	w.t.Helper()
	c := &infrav1.MaasCluster{}
	if err := w.client.Get(w.t.Context(), fleetKeyOf(fleetCluster), c); err != nil {
		w.t.Fatal(err)
	}
	status := c.Status
	f(c)
	changed := c.Status
	c.Status = status
	if err := w.client.Update(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	c.Status = changed
	if err := w.client.Status().Update(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// takeEvents are the events so far.
func (w *machineWorld) takeEvents() []string {
	var all []string
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}
