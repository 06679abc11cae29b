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
	w.watch = w.space // a manager of its own
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "crash-system"}})
	as, err := w.rights(t.Context(), "crash-system", w.space)
	if err != nil {
		t.Fatal(err)
	}
	stop := w.manage(as, manager.MemoryLedger)
	c := w.readyCluster("c", nil)
	w.maas.AddFault(sim.Fault{Path: "machines/*/", Op: "commission", Kind: sim.FaultHang})
	w.machine("c", "w-0", vm(), nil)
	w.eventually("there is a VM, which is to be commissioned", func() string {
		if w.maas.Faults()[0].Struck == 0 {
			return "not yet"
		}
		return ""
	})
	stop()
	if m := w.get("w-0"); m.Spec.SystemID != nil || m.Annotations[ownership.SystemIDAnnotation] != "" {
		t.Errorf("the manager knew of the VM: %+v", m)
	}
	w.maas.ClearFaults()
	if vms := w.maas.Instances(); len(vms) != 1 {
		t.Errorf("the VMs are %+v", vms)
	}
	w.remove(w.object("w-0"))
	w.manage(as, manager.MemoryLedger)
	w.awaitGone(w.object("w-0"))
	w.end(c, before)
}

// manage runs a manager of the world's objects, with this ledger.
func (w *world) manage(as *rest.Config, ledger string) (stop func()) {
	w.t.Helper()
	o := options(ledger)
	o.ManagerNamespace, o.Namespace, o.WatchFilter = w.space+"-system", w.space, w.watch
	key := &corev1.Secret{ // of the identity, which is read in the manager's namespace
		ObjectMeta: metav1.ObjectMeta{Namespace: o.ManagerNamespace, Name: w.space}, StringData: map[string]string{infrav1.CredentialsKey: w.maas.APIKey()},
	}
	if err := w.Create(w.t.Context(), key); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	mgr, err := manager.New(w.t.Context(), as, o, manager.NewMetrics())
	if err != nil {
		w.t.Fatal(err)
	}
	return run(w.t, mgr)
}

// TestKubeWatchFilter: what carries another label is somebody else's.
func TestKubeWatchFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "filter", fastModel())
	other := *w
	other.watch = "somebody"
	theirs := other.cluster("theirs", nil)
	w.readyCluster("ours", nil)
	w.machine("ours", "w-0", vm(), nil)
	w.isReady("w-0")
	w.await(theirs, "is there", func() string { return "" })
	if len(theirs.Finalizers) > 0 || len(theirs.Status.Conditions) > 0 {
		t.Errorf("theirs was reconciled: %v, %s", theirs.Finalizers, said(theirs))
	}
}
