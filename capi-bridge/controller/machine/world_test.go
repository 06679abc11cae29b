package machine_test

import (
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

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/mortal"
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
	fleetSpace   = "fleet"
	fleetCluster = "prod"
	// fleetManagement is the management cluster, as marks name it.
	fleetManagement = "management-uid"
)

// machineWorld is a cluster whose infrastructure is provisioned, and a simulated
// MAAS, in virtual time.
type machineWorld struct {
	t      *testing.T
	sim    *sim.Sim
	rows   engine.Ledger
	client client.WithWatch
	events *events.FakeRecorder
	mu     sync.Mutex
	writes []string     // what was written to the API server
	flaky  int          // three of five writes fail, from the first on; zero: none
	fate   *mortal.Fate // of all managers
	life   *mortal.Life // of the manager that runs

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

// inFleet runs a test in a world of its own, in virtual time.
func inFleet(t *testing.T, model sim.Model, f func(t *testing.T, w *machineWorld)) {
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
	w := &machineWorld{t: t, sim: s, rows: rows, events: events.NewFakeRecorder(1000), fate: mortal.Never()}
	w.client = controllertest.FakeAPI(t, fleetObjects()...)
	w.restart()
	return w
}

func fleetObjects() []client.Object {
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetSpace, Name: fleetCluster, UID: "cluster-uid"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "MaasCluster", Name: fleetCluster,
		}},
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	return []client.Object{cluster, &infrav1.MaasCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetSpace, Name: fleetCluster},
		Spec:       infrav1.MaasClusterSpec{DNSDomain: "maas"},
	}}
}

// Site implements controller.Sites.
func (w *machineWorld) Site(context.Context, *infrav1.MaasCluster) (*controller.Site, error) {
	return w.site, w.siteErr
}

// restart begins a new manager: nothing is remembered but what MAAS, the ledger
// and the API server hold.
func (w *machineWorld) restart() {
	w.t.Helper()
	w.life = w.fate.Begin(nil)
	rows := controllertest.MortalLedger{Ledger: w.rows, Life: w.life}
	transport := w.life.Transport(w.sim.RoundTripper(), mortal.MAASCall)
	m, err := maas.New(maas.Config{URL: "http://maas.example/MAAS", APIKey: w.sim.APIKey(), Transport: transport, Ledger: rows})
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
		VMs: e.VMs, Machines: e.Machines, Hosts: e.Hosts, RunningHosts: e.Probing(neighbour{w.sim}).Hosts, DNS: m.DNS, Names: m.Names, Catalog: m.Catalog, Inventory: m.Hosts, Projects: e, Marks: e, RegionMarks: m.Tags, Credentials: fleetKey(),
	}
	api := controllertest.MortalClient(w.client, w.life, w.written)
	w.Reconciler = &machine.Reconciler{
		Client: api, APIReader: api, Sites: w, Recorder: w.events, Workloads: w.workloads,
		ManagementCluster: fleetManagement,
	}
}

var errFlaky = errors.New("the API server is busy")

// written notes a write, which the error keeps from being done.
func (w *machineWorld) written(write string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flaky > 0 {
		w.flaky++
		if w.flaky%5 != 0 && w.flaky%5 != 3 {
			return errFlaky
		}
	}
	w.writes = append(w.writes, write)
	return nil
}

const bootstrapText = "## template: jinja\n#cloud-config\nruncmd:\n- kubeadm join\n"

// add makes a MaasMachine with its Machine and bootstrap data. change may change
// them before; nil leaves them.
func (w *machineWorld) add(name string, spec infrav1.MaasMachineSpec, change func(*clusterv1.Machine, *infrav1.MaasMachine)) {
	w.t.Helper()
	labels := map[string]string{clusterv1.ClusterNameLabel: fleetCluster}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: fleetSpace, Name: name + "-boot"}, Data: map[string][]byte{"value": []byte(bootstrapText)}}
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetSpace, Name: name, UID: types.UID("uid-of-" + name), Labels: labels},
		Spec:       clusterv1.MachineSpec{ClusterName: fleetCluster},
	}
	machine.Spec.Bootstrap.DataSecretName = ptr.To(secret.Name)
	object := &infrav1.MaasMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetSpace, Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{{
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

func (w *machineWorld) get(name string) *infrav1.MaasMachine {
	w.t.Helper()
	m := &infrav1.MaasMachine{}
	if err := w.client.Get(w.t.Context(), fleetKeyOf(name), m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *machineWorld) gone(name string) bool {
	w.t.Helper()
	err := w.client.Get(w.t.Context(), fleetKeyOf(name), &infrav1.MaasMachine{})
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return err != nil
}

func fleetKeyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: fleetSpace, Name: name}
}

// once reconciles once.
func (w *machineWorld) once(name string) ctrl.Result {
	w.t.Helper()
	res, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: fleetKeyOf(name)})
	if err != nil {
		w.t.Fatalf("reconcile of %s: %v", name, err)
	}
	return res
}

// until reconciles in time, as a manager would, until a condition has this
// reason.
func (w *machineWorld) until(name, condition, reason string) *infrav1.MaasMachine {
	w.t.Helper()
	for begun := time.Now(); time.Since(begun) < 30*time.Minute; {
		res := w.once(name)
		if m := w.get(name); conditions.GetReason(m, condition) == reason {
			return m
		}
		time.Sleep(min(max(res.RequeueAfter, time.Second), 5*time.Second))
	}
	w.t.Fatalf("%s never has the reason %s of %s: %s", name, reason, condition, summaryOf(w.get(name)))
	return nil
}

func (w *machineWorld) ready(name string) *infrav1.MaasMachine {
	w.t.Helper()
	return w.until(name, infrav1.ReadyCondition, infrav1.ReadyReason)
}

// together reconciles several at the same time, until each has the reason.
func (w *machineWorld) together(names []string, reason string) {
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
				if conditions.GetReason(w.get(name), infrav1.ReadyCondition) == reason {
					return
				}
				time.Sleep(min(max(res.RequeueAfter, time.Second), 5*time.Second))
			}
			w.t.Errorf("%s never is %s: %s", name, reason, summaryOf(w.get(name)))
		})
	}
	all.Wait()
}

// remove deletes the object and reconciles until it is gone.
func (w *machineWorld) remove(name string) {
	w.t.Helper()
	w.markDeleted(name)
	w.untilGone(name)
}

func (w *machineWorld) untilGone(name string) {
	w.t.Helper()
	for begun := time.Now(); !w.gone(name); {
		if time.Since(begun) > 30*time.Minute {
			w.t.Fatalf("%s is never gone: %s", name, summaryOf(w.get(name)))
		}
		res := w.once(name)
		time.Sleep(min(max(res.RequeueAfter, time.Second), 5*time.Second))
	}
}

func (w *machineWorld) markDeleted(name string) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.get(name)); err != nil {
		w.t.Fatal(err)
	}
}

// summaryOf are the conditions in words.
func summaryOf(m *infrav1.MaasMachine) string {
	var all []string
	for _, c := range m.Status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(all, "\n")
}

// want checks a condition, and that its message says all of the parts.
func (w *machineWorld) want(m *infrav1.MaasMachine, kind string, status metav1.ConditionStatus, reason string, parts ...string) {
	w.t.Helper()
	c := conditions.Get(m, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		w.t.Fatalf("want %s=%s (%s), got\n%s", kind, status, reason, summaryOf(m))
	}
	for _, part := range parts {
		if !strings.Contains(c.Message, part) {
			w.t.Errorf("the message of %s does not say %q: %s", kind, part, c.Message)
		}
	}
}

// known is what MAAS has of a machine, by hostname or system id.
func (w *machineWorld) known(name string) sim.Machine {
	w.t.Helper()
	m, ok := w.sim.Machine(name)
	if !ok {
		w.t.Fatalf("MAAS has no machine %s", name)
	}
	return m
}

func (w *machineWorld) edit(systemID string, e sim.MachineEdit) {
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

// told are the events so far.
func (w *machineWorld) told() []string {
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
