package machine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// neighbourNamespace is another tenant's namespace, with a cluster of the same MAAS.
const neighbourNamespace = "neighbour"

// addNeighbour makes a cluster in another namespace, with one MaasMachine that shape
// changes.
func (w *machineWorld) addNeighbour(shape func(*infrav1.MaasMachine)) {
	w.t.Helper()
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: neighbourNamespace, Name: neighbourNamespace, UID: "neighbour-cluster"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "MaasCluster", Name: neighbourNamespace,
		}},
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	labels := map[string]string{clusterv1.ClusterNameLabel: neighbourNamespace}
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: neighbourNamespace, Name: "m", UID: "neighbour-machine", Labels: labels},
		Spec:       clusterv1.MachineSpec{ClusterName: neighbourNamespace},
	}
	machine.Spec.Bootstrap.DataSecretName = ptr.To("none")
	m := &infrav1.MaasMachine{ObjectMeta: metav1.ObjectMeta{Namespace: neighbourNamespace, Name: "m", Labels: labels, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m", UID: machine.UID, Controller: ptr.To(true),
	}}}, Spec: controllertest.MetalMachineSpec()}
	shape(m)
	maasCluster := &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: neighbourNamespace, Name: neighbourNamespace}, Spec: infrav1.MaasClusterSpec{DNSDomain: "maas"}}
	for _, o := range []client.Object{cluster, maasCluster, machine, m} {
		if err := w.client.Create(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
}

// reconcileAndDeleteNeighbour reconciles the neighbour's object for a while, and then deletes it.
// It returns what it said.
func (w *machineWorld) reconcileAndDeleteNeighbour() (said *infrav1.MaasMachine) {
	w.t.Helper()
	key := types.NamespacedName{Namespace: neighbourNamespace, Name: "m"}
	step := func() {
		res, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: key})
		if err != nil {
			w.t.Fatalf("reconcile: %v", err)
		}
		time.Sleep(max(time.Second, res.RequeueAfter))
	}
	for range 4 {
		step()
	}
	said = &infrav1.MaasMachine{}
	if err := w.client.Get(w.t.Context(), key, said); err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Delete(w.t.Context(), said.DeepCopy()); err != nil {
		w.t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 10*time.Minute; step() {
		if err := w.client.Get(w.t.Context(), key, &infrav1.MaasMachine{}); err != nil {
			return said
		}
	}
	w.t.Error("the neighbour's object is never gone")
	return said
}

// wantStillDeployed wants nobody to have touched a machine.
func (w *machineWorld) wantStillDeployed(id, reason string) {
	w.t.Helper()
	if got, ok := w.sim.Machine(id); !ok || got.StatusName != "Deployed" {
		w.t.Errorf("%s\nMAAS has the machine: %v, %q", reason, ok, got.StatusName)
	}
}

// TestCopyOwnsNothing copies an object to another namespace, as the restore of
// a backup does. The copy says whose the machine is. It goes without touching
// the machine, whether the original still exists or not.
func TestCopyOwnsNothing(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "BareMetal": controllertest.MetalMachineSpec()} {
		for _, alone := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "/OriginalIsGone"}[alone], func(t *testing.T) {
				t.Parallel()
				runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
					w.addMachine("original", spec, nil)
					v := w.reconcileUntilReady("original")
					if alone {
						w.dropObject("original")
					}
					w.addNeighbour(func(m *infrav1.MaasMachine) {
						m.Spec, m.Annotations, m.Finalizers = v.Spec, v.Annotations, v.Finalizers
					})
					w.wantCondition(w.reconcileAndDeleteNeighbour(), infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.ConflictReason, "fleet/original")
					w.wantStillDeployed(*v.Spec.SystemID, "A copy owns nothing.")
				})
			})
		}
	}
}

// dropObject takes an object away without its machine, as who takes the finalizer off.
func (w *machineWorld) dropObject(name string) {
	w.t.Helper()
	m := w.getMachine(name)
	m.Finalizers = nil
	if err := w.client.Update(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Delete(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
}

// TestAdoptedVMIsMarked: a VM that was taken over from another provider is
// marked. An object that names it later gets nothing.
func TestAdoptedVMIsMarked(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*infrav1.MaasMachine){
		"FinalizerPreset": func(m *infrav1.MaasMachine) { m.Finalizers = []string{infrav1.MachineFinalizer} },
		"TakeOver":        func(m *infrav1.MaasMachine) { m.Annotations = map[string]string{infrav1.TakeOverAnnotation: "true"} },
		"KeyOfItsOwn": func(m *infrav1.MaasMachine) {
			m.Finalizers = []string{infrav1.MachineFinalizer}
			m.Annotations = map[string]string{ownership.KeyAnnotation: "management-uid/neighbour/neighbour/m", ownership.KindAnnotation: "vm"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				id, spec := w.makeIncumbentVM()
				w.addMachine("old", spec, withIncumbentIDs(id, true))
				w.reconcileUntilMarked("old", id)
				w.addNeighbour(func(m *infrav1.MaasMachine) {
					m.Spec = spec
					m.Spec.SystemID, m.Spec.ProviderID = ptr.To(id), ptr.To("maas:///az1/"+id)
					how(m)
				})
				w.wantCondition(w.reconcileAndDeleteNeighbour(), infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.ConflictReason)
				w.wantStillDeployed(id, "The adopted VM is another object's.")
				w.wantCondition(w.getMachine("old"), infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
				w.removeMachine("old")
			})
		})
	}
}

// TestPresetMarksOwnNothing: a tenant makes an object while its Cluster is paused, with
// all that the manager would note in it. A VM without a mark is not the object's for that.
func TestPresetMarksOwnNothing(t *testing.T) {
	t.Parallel()
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		id, spec := w.makeIncumbentVM()
		w.addNeighbour(func(m *infrav1.MaasMachine) {
			m.Spec = spec
			m.Spec.SystemID, m.Spec.ProviderID = ptr.To(id), ptr.To("maas:///az1/"+id)
			m.Finalizers = []string{infrav1.MachineFinalizer}
			m.Annotations = map[string]string{
				ownership.KeyAnnotation: fleetManagement + "/neighbour/neighbour/m", ownership.KindAnnotation: "vm",
				ownership.SystemIDAnnotation: id, ownership.AdoptionAnnotation: "taken",
			}
		})
		w.wantCondition(w.reconcileAndDeleteNeighbour(), infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.ConflictReason)
		w.wantStillDeployed(id, "The VM says nothing of the object.")
	})
}

// makeIncumbentVM is a VM that another provider left: it bears no mark.
func (w *machineWorld) makeIncumbentVM() (string, infrav1.MaasMachineSpec) {
	w.t.Helper()
	w.addMachine("first", controllertest.VMMachineSpec(), nil)
	id := *w.reconcileUntilReady("first").Spec.SystemID
	w.editMaasMachine(id, sim.MachineEdit{Hostname: ptr.To("vm-first"), Description: ptr.To("")})
	w.dropObject("first")
	return id, infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096), LXD: &infrav1.MachineLXDConfig{Enabled: ptr.To(true)}}
}

// reconcileUntilMarked reconciles until the machine says that it is the object's.
func (w *machineWorld) reconcileUntilMarked(name, id string) {
	w.t.Helper()
	w.reconcileUntilReady(name)
	want := fleetManagement + "/fleet/prod/" + name
	for range 5 {
		got := w.maasMachine(id)
		if strings.HasSuffix(got.Description, want) || got.OwnerData["maaslxd-key"] == want {
			return
		}
		time.Sleep(max(time.Second, w.reconcileOnce(name).RequeueAfter))
	}
	w.t.Fatalf("MAAS has %+v, want the mark %s", w.maasMachine(id), want)
}

// TestFormerMarks: what a former version made, and marked by the UID of its Machine,
// becomes the same object's by its names, whatever state it was left in. The name of
// a VM stays.
func TestFormerMarks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind string
		spec infrav1.MaasMachineSpec
	}{"VM": {"vm", controllertest.VMMachineSpec()}, "BareMetal": {"machine", controllertest.MetalMachineSpec()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", tc.spec, func(_ *clusterv1.Machine, m *infrav1.MaasMachine) {
					m.Finalizers = []string{infrav1.MachineFinalizer}
					m.Annotations = map[string]string{ownership.KeyAnnotation: "uid-of-web", ownership.KindAnnotation: tc.kind, ownership.AdoptionAnnotation: "none"}
					conditions.Set(m, metav1.Condition{Type: infrav1.MachineDeployedCondition, Status: metav1.ConditionFalse, Reason: infrav1.LXDVMCreatingReason})
				})
				m := w.reconcileUntilReady("web") // in flight by its former key, until it runs
				id, was := *m.Spec.SystemID, *m.Status.Hostname
				w.reconcileUntilMarked("web", id)
				for range 3 {
					time.Sleep(w.reconcileOnce("web").RequeueAfter)
				}
				m = w.getMachine("web")
				w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionTrue, infrav1.MachineDeployedReason)
				if *m.Status.Hostname != was || w.maasMachine(id).Hostname != was || m.Annotations[ownership.KeyAnnotation] != fleetManagement+"/fleet/prod/web" {
					t.Errorf("it is called %s and was %s, annotations %v", *m.Status.Hostname, was, m.Annotations)
				}
				if said := w.getMachine("web"); conditionMessage(said, infrav1.MachineDeployedCondition) != "" {
					t.Errorf("something is odd about it: %s", conditionMessage(said, infrav1.MachineDeployedCondition))
				}
				w.removeMachine("web")
				if n := countAcquiredMetal(w.sim); n > 0 || len(w.sim.Instances()) > 0 {
					t.Errorf("left: %d machines, %v", n, w.sim.Instances())
				}
			})
		})
	}
}

func conditionMessage(m *infrav1.MaasMachine, kind string) string {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

// TestAnotherManagementCluster: objects that come paused, as clusterctl move brings
// them, have their machines, which are marked anew: the cluster that they left has
// them no longer. Those that come otherwise have nothing, unless the identity allows
// it.
func TestAnotherManagementCluster(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason         string
		paused, allows bool
		owns           bool
	}{
		"Moved":    {"clusterctl moves paused objects.", true, false, true},
		"Restored": {"A backup of another management cluster may be a copy.", false, false, false},
		"Allowed":  {"The administrator knows that the object is no copy.", false, true, true},
	}
	for name, tc := range cases {
		for kind, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "BareMetal": controllertest.MetalMachineSpec()} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
					w.ManagementCluster = "former-uid"
					w.addMachine("web", spec, nil)
					id := *w.reconcileUntilReady("web").Spec.SystemID
					m := w.getMachine("web")
					m.Status = infrav1.MaasMachineStatus{} // it is not moved
					if err := w.client.Status().Update(t.Context(), m); err != nil {
						t.Fatal(err)
					}
					w.restartManager()
					w.site.AllowTakeOver = tc.allows
					if tc.paused {
						w.setPaused("web", true)
						w.reconcileOnce("web")
						w.reconcileOnce("web")
						w.setPaused("web", false)
					}
					if !tc.owns {
						m := w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.ConflictReason)
						w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ConflictReason, "another management cluster")
						w.removeMachine("web")
						w.wantStillDeployed(id, tc.reason)
						return
					}
					w.reconcileUntilMarked("web", id)
					w.removeMachine("web")
				})
			})
		}
	}
}
