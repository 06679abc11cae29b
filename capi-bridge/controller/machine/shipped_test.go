package machine_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/cluster"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/identity"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

const lxdKeySecret = "maaslxd-lxd-client"

// shippedWorld is a MAAS that has no VM hosts any more, in real time: LXD is asked
// over TLS. Its sites are found and opened as the manager does.
type shippedWorld struct {
	*machineWorld
	maas *sim.Server
}

// newShippedWorld makes the world with one LXD host, which is noted in MAAS, and is all
// that there is in its zone.
func newShippedWorld(t *testing.T, composer string) *shippedWorld {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), fleetkey.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	model := machineModel()
	model.MAASVersion, model.LXDListen, model.Latency = sim.VersionGone, sim.LXDListenPorts, sim.Latency{}
	model.Hosts = []sim.HostModel{{Name: "host1", Cores: 16, MemoryMiB: 65536, Zone: "az2", TrustedCertificates: []string{key.Certificate}}}
	w := &shippedWorld{machineWorld: newMachineWorld(t, model)}
	if w.maas, err = sim.ServeAt(w.sim, "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.maas.Stop() })
	w.recordHost("host1")
	for _, o := range append(controllertest.CredentialObjects(w.maas), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: lxdKeySecret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: []byte(key.Certificate), corev1.TLSPrivateKeyKey: []byte(key.Key)},
	}) {
		if err := w.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	rows := ledger.LocalRegions{Ledger: ledger.NewMemory(nil)}
	t.Cleanup(func() { _ = rows.Close() })
	sites := identity.New(identity.Config{
		Finder: identity.Finder{Reader: w.client, Namespace: infrav1.DefaultNamespace}, Ledger: rows, CredentialsPeriod: time.Minute,
		Interval: 20 * time.Millisecond, Composer: composer, LXDKeySecret: lxdKeySecret,
	})
	t.Cleanup(sites.Close)
	w.Sites = sites
	return w
}

// recordHost writes into MAAS that a machine is an LXD host, as registering it does.
func (w *shippedWorld) recordHost(name string) {
	w.t.Helper()
	server := w.sim.LXDs()[0]
	record := engine.HostRecord{
		Name: name, Zone: "az2", Pool: "default", DefaultStoragePool: server.StoragePools[0].Name,
		Endpoint: engine.Endpoint{Address: server.Listening[0], Project: "default"},
	}
	data := record.OwnerData()
	for key, value := range data {
		if value == "" {
			delete(data, key)
		}
	}
	w.editMaasMachine(name, sim.MachineEdit{Tags: ptr.To([]string{engine.HostTag}), OwnerData: &data})
}

// waitFor reconciles until something holds. Simulated machines take no time here.
func (w *shippedWorld) waitFor(name, what string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s is never %s: %s", name, what, conditionSummary(w.getMachine(name)))
		}
		w.reconcileOnce(name)
	}
}

func (w *shippedWorld) hasReadyReason(name, reason string) func() bool {
	return func() bool { return conditions.GetReason(w.getMachine(name), infrav1.ReadyCondition) == reason }
}

// TestNoVMHosts: where MAAS has no VM hosts any more, a VM has its whole life all
// the same: its LXD is asked for it.
func TestNoVMHosts(t *testing.T) {
	t.Parallel()
	w := newShippedWorld(t, "auto")
	before := w.sim.DescribeState()
	w.addMachine("web", controllertest.VMMachineSpec(), nil)
	w.waitFor("web", "ready", w.hasReadyReason("web", infrav1.ReadyReason))
	m := w.getMachine("web")
	w.wantCondition(m, infrav1.LXDVMCreatedCondition, metav1.ConditionTrue, infrav1.LXDVMCreatedReason)
	seen := w.maasMachine(*m.Spec.SystemID)
	made := w.sim.Instances()
	if len(made) != 1 || made[0].MachineID != seen.SystemID || seen.StatusName != "Deployed" || ptr.Deref(m.Status.LXDHost, "") != "host1" {
		t.Errorf("%s is on %q, in MAAS %+v, and the instances are %+v", m.Name, ptr.Deref(m.Status.LXDHost, ""), seen, made)
	}
	w.markDeleted("web")
	w.waitFor("web", "gone", func() bool { return w.isGone("web") })
	if after := w.sim.DescribeState(); !slices.Equal(before, after) {
		t.Errorf("there is %q, and there was %q", after, before)
	}
}

// TestNoVMHostsButMAAS: who wants MAAS alone to make VMs is told once that it does
// not any more. Bare metal is as it was.
func TestNoVMHostsButMAAS(t *testing.T) {
	t.Parallel()
	w := newShippedWorld(t, "maas")
	w.addMachine("web", controllertest.VMMachineSpec(), nil)
	w.waitFor("web", "refused", w.hasReadyReason("web", infrav1.MAASRefusedReason))
	w.wantCondition(w.getMachine("web"), infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.MAASRefusedReason, "has no VM hosts any more", "--composer=lxd")
	w.takeEvents()
	w.reconcileOnce("web")
	if again := w.takeEvents(); len(again) > 0 {
		t.Errorf("it is told again: %q", again)
	}
	w.addMachine("db", controllertest.MetalMachineSpec(), nil)
	w.waitFor("db", "ready", w.hasReadyReason("db", infrav1.ReadyReason))
	if made := w.sim.Instances(); len(made) > 0 {
		t.Errorf("instances were made: %+v", made)
	}
}

// TestMaasClusterOnLXD: the room on LXD hosts makes failure domains there, and bare
// metal does.
func TestMaasClusterOnLXD(t *testing.T) {
	t.Parallel()
	w := newShippedWorld(t, "auto")
	w.changeCluster(func(c *infrav1.MaasCluster) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: fleetCluster, UID: "cluster-uid"}}
	})
	clusters := &cluster.Reconciler{Client: w.client, Sites: w.Sites, Recorder: w.events}
	c := &infrav1.MaasCluster{}
	for range 10 {
		if _, err := clusters.Reconcile(t.Context(), ctrl.Request{NamespacedName: fleetKeyOf(fleetCluster)}); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Get(t.Context(), fleetKeyOf(fleetCluster), c); err != nil {
			t.Fatal(err)
		}
	}
	var zones []string
	for _, domain := range c.Status.FailureDomains {
		zones = append(zones, domain.Name)
	}
	if !slices.Equal(zones, []string{"az1", "az2"}) || !ptr.Deref(c.Status.Initialization.Provisioned, false) {
		t.Errorf("the failure domains are %q: %+v", zones, c.Status.Conditions)
	}
}
