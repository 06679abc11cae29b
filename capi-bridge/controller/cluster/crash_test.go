package cluster_test

import (
	"net/http/httptest"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/acctest/crash"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/cluster"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// crashableCluster is a clusterWorld whose managers die.
type crashableCluster struct {
	*clusterWorld
	fate *crash.Plan
	gate *crash.Gateway // before MAAS
	life *crash.Process // of the manager that runs
}

// TestClusterKilledAnywhere kills the manager once at each call of MAAS and
// each write to the API server in the life of a MaasCluster. The result must be
// the same as without a kill: one name, which goes with the cluster.
func TestClusterKilledAnywhere(t *testing.T) {
	t.Parallel()
	controllertest.CrashAtEach(t, func(t *testing.T, fate *crash.Plan) {
		w := newCrashableCluster(t, fate)
		w.addMachine("m1", clusterMachine{deploying: true, addresses: []string{"10.77.0.11"}})
		w.reconcileThroughCrashes(func() bool { return w.publishedAddresses(testHost) == "10.77.0.11" })
		w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.12"}})
		w.reconcileThroughCrashes(func() bool { return w.publishedAddresses(testHost) == "10.77.0.12" && w.findMaasCluster().Status.Ready })
		w.deleteObject(w.findMaasCluster())
		w.reconcileThroughCrashes(func() bool { return !w.findMaasCluster().DeletionTimestamp.IsZero() })
		w.deleteObject(w.getMachine("m1"))
		w.removeMachineFinalizers("m1")
		w.reconcileThroughCrashes(func() bool { return w.findMaasCluster() == nil })
		if got := w.publishedAddresses(testHost); got != "none" {
			t.Errorf("the name points to %s", got)
		}
		if n := w.maas.Journal().Count("POST dnsresources/"); n != 1 {
			t.Errorf("%d names were made", n)
		}
	}, "POST dnsresources/", "PUT dnsresources/*/", "DELETE dnsresources/*/")
}

func newCrashableCluster(t *testing.T, fate *crash.Plan) *crashableCluster {
	t.Helper()
	w := &crashableCluster{clusterWorld: newClusterWorld(t, sim.Model{}, nil), fate: fate}
	w.gate = crash.NewGateway(w.maas, crash.MAASCallName)
	server := httptest.NewServer(w.gate)
	t.Cleanup(server.Close)
	at := &corev1.ConfigMap{}
	if err := w.client.Get(t.Context(), types.NamespacedName{Namespace: infrav1.DefaultNamespace, Name: infrav1.EndpointConfigMap}, at); err != nil {
		t.Fatal(err)
	}
	at.Data[infrav1.EndpointKey] = server.URL + "/MAAS"
	if err := w.client.Update(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	w.restartManager()
	return w
}

// restartManager begins the life of a new manager.
func (w *crashableCluster) restartManager() {
	w.t.Helper()
	w.life = w.fate.StartProcess(nil)
	w.agent = "life/" + strconv.Itoa(len(w.fate.Operations()))
	w.gate.Register(w.agent, w.life)
	w.Reconciler = &cluster.Reconciler{
		Client: controllertest.CrashableClient(w.client, w.life, func(string) error { return nil }), Sites: w.newSites(), Recorder: w.recorder, Now: w.Now,
	}
}

// reconcileThroughCrashes reconciles until done, with a new manager each time that one dies.
func (w *crashableCluster) reconcileThroughCrashes(done func() bool) {
	w.t.Helper()
	for range 20 {
		ctx, cancel := w.life.Context(w.t.Context())
		_, err := w.Reconcile(ctx, ctrl.Request{NamespacedName: clusterKey})
		cancel()
		switch {
		case w.life.HasCrashed():
			w.restartManager()
			continue // what it did in MAAS before it died is not all
		case err != nil:
			w.t.Fatal(err)
		case done():
			return
		}
	}
	w.t.Fatalf("never done: %+v", w.findMaasCluster().Status)
}
