package manager_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
)

// TestKubeCrashAfterComposeLeavesNoVM: a manager that ended between a compose and
// the patch that tells of it left a VM behind when the machine was deleted then.
func TestKubeCrashAfterComposeLeavesNoVM(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "crash", fastModel())
	before := len(w.maas.Machines())
	w.watchLabel = w.namespace // a manager of its own
	w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "crash-system"}})
	as, err := w.grantRights(t.Context(), "crash-system", w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	stop := w.runManager(as, manager.MemoryLedger)
	c := w.createReadyCluster("c", nil)
	w.maas.AddFault(sim.Fault{Path: "machines/*/", Op: "commission", Kind: sim.FaultHang})
	w.createMachine("c", "w-0", newVMSpec(), nil)
	w.waitFor("there is a VM, which is to be commissioned", func() string {
		if w.maas.Faults()[0].Struck == 0 {
			return "not yet"
		}
		return ""
	})
	stop()
	if m := w.getMachine("w-0"); m.Spec.SystemID != nil || m.Annotations[ownership.SystemIDAnnotation] != "" {
		t.Errorf("the manager knew of the VM: %+v", m)
	}
	w.maas.ClearFaults()
	if vms := w.maas.Instances(); len(vms) != 1 {
		t.Errorf("the VMs are %+v", vms)
	}
	w.deleteObject(w.machineObject("w-0"))
	w.runManager(as, manager.MemoryLedger)
	w.awaitGone(w.machineObject("w-0"))
	w.deleteCluster(c, before)
}

// runManager runs a manager of the world's objects, with this ledger.
func (w *world) runManager(as *rest.Config, ledger string) (stop func()) {
	w.t.Helper()
	o := testOptions(ledger)
	o.ManagerNamespace, o.Namespace, o.WatchFilter = w.namespace+"-system", w.namespace, w.watchLabel
	key := &corev1.Secret{ // of the identity, which is read in the manager's namespace
		ObjectMeta: metav1.ObjectMeta{Namespace: o.ManagerNamespace, Name: w.namespace}, StringData: map[string]string{infrav1.CredentialsKey: w.maas.APIKey()},
	}
	if err := w.Create(w.t.Context(), key); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	mgr, err := manager.New(w.t.Context(), as, o, manager.NewMetrics())
	if err != nil {
		w.t.Fatal(err)
	}
	return runUntilCleanup(w.t, mgr)
}

// TestKubeWatchFilter: what carries another label is somebody else's.
func TestKubeWatchFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "filter", fastModel())
	other := *w
	other.watchLabel = "somebody"
	theirs := other.createCluster("theirs", nil)
	w.createReadyCluster("ours", nil)
	w.createMachine("ours", "w-0", newVMSpec(), nil)
	w.awaitReady("w-0")
	w.awaitObject(theirs, "is there", func() string { return "" })
	if len(theirs.Finalizers) > 0 || len(theirs.Status.Conditions) > 0 {
		t.Errorf("theirs was reconciled: %v, %s", theirs.Finalizers, describeConditions(theirs))
	}
}
