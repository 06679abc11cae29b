package cluster_test

import (
	"net/http/httptest"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/mortal"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/cluster"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// mortalCluster is a clusterWorld whose managers die.
type mortalCluster struct {
	*clusterWorld
	fate *mortal.Fate
	gate *mortal.Gate // before MAAS
	life *mortal.Life // of the manager that runs
}

// TestClusterKilledAnywhere kills the manager at each call of MAAS and each write to
// the API server of a MaasCluster's life, once, and wants what the life without that
// comes to: one name, which goes with the cluster.
func TestClusterKilledAnywhere(t *testing.T) {
	t.Parallel()
	controllertest.DieOfEach(t, func(t *testing.T, fate *mortal.Fate) {
		w := newMortalCluster(t, fate)
		w.add("m1", member{deploying: true, addresses: []string{"10.77.0.11"}})
		w.live(func() bool { return w.record(testHost) == "10.77.0.11" })
		w.see("m1", member{addresses: []string{"10.77.0.12"}})
		w.live(func() bool { return w.record(testHost) == "10.77.0.12" && w.object().Status.Ready })
		w.remove(w.object())
		w.live(func() bool { return !w.object().DeletionTimestamp.IsZero() })
		w.remove(w.member("m1"))
		w.release("m1")
		w.live(func() bool { return w.object() == nil })
		if got := w.record(testHost); got != "none" {
			t.Errorf("the name points to %s", got)
		}
		if n := w.maas.Journal().Count("POST dnsresources/"); n != 1 {
			t.Errorf("%d names were made", n)
		}
	}, "POST dnsresources/", "PUT dnsresources/*/", "DELETE dnsresources/*/")
}

func newMortalCluster(t *testing.T, fate *mortal.Fate) *mortalCluster {
	t.Helper()
	w := &mortalCluster{clusterWorld: newClusterWorld(t, sim.Model{}, nil), fate: fate}
	w.gate = mortal.NewGate(w.maas, mortal.MAASCall)
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
	w.restart()
	return w
}

// restart begins the life of a new manager.
func (w *mortalCluster) restart() {
	w.t.Helper()
	w.life = w.fate.Begin(nil)
	w.agent = "life/" + strconv.Itoa(len(w.fate.Deeds()))
	w.gate.Know(w.agent, w.life)
	w.Reconciler = &cluster.Reconciler{
		Client: controllertest.MortalClient(w.client, w.life, func(string) error { return nil }), Sites: w.sites(), Recorder: w.recorder, Now: w.Now,
	}
}

// live reconciles until done, with a new manager each time that one dies.
func (w *mortalCluster) live(done func() bool) {
	w.t.Helper()
	for range 20 {
		ctx, cancel := w.life.Context(w.t.Context())
		_, err := w.Reconcile(ctx, ctrl.Request{NamespacedName: clusterKey})
		cancel()
		switch {
		case w.life.Dead():
			w.restart()
			continue // what it did in MAAS before it died is not all
		case err != nil:
			w.t.Fatal(err)
		case done():
			return
		}
	}
	w.t.Fatalf("never done: %+v", w.object().Status)
}
