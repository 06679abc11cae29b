package manager_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

const (
	scopedNamespace = "team-a" // the manager's --namespace
	otherNamespace  = "team-b"
)

// scopedWorld is one of a manager of a single namespace, with credentials of its
// own and the rights that such a manager is shipped with.
type scopedWorld struct {
	*world
	metrics *prometheus.Registry
	folder  string
}

func newScopedWorld(t *testing.T, model sim.Model) *scopedWorld {
	t.Helper()
	w := &scopedWorld{world: &world{stage: onStage(t), t: t, namespace: scopedNamespace}, metrics: prometheus.NewRegistry(), folder: t.TempDir()}
	w.maas = w.startMAAS(scopedNamespace, model)
	for _, name := range []string{scopedNamespace, otherNamespace, infrav1.DefaultNamespace} {
		w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	w.createObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: infrav1.CredentialsSecret}, StringData: map[string]string{infrav1.CredentialsKey: w.maas.APIKey()}})
	w.createObjects(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: infrav1.EndpointConfigMap}, Data: map[string]string{infrav1.EndpointKey: w.maas.URL}})
	as, err := w.grantRights(t.Context(), infrav1.DefaultNamespace, scopedNamespace)
	if err != nil {
		t.Fatal(err)
	}
	counted := manager.NewMetrics()
	if err := counted.Register(w.metrics); err != nil {
		t.Fatal(err)
	}
	o := testOptions(filepath.Join(w.folder, "ledger.db"))
	o.ManagerNamespace, o.Namespace = infrav1.DefaultNamespace, scopedNamespace
	mgr, err := manager.New(t.Context(), as, o, counted)
	if err != nil {
		t.Fatal(err)
	}
	runUntilCleanup(t, mgr)
	w.waitFor("the manager leads", func() string {
		leader, err := w.plane.Leader(t.Context(), client.ObjectKey{Namespace: infrav1.DefaultNamespace, Name: infrav1.LeaderElectionID})
		if err != nil || leader == "" {
			return fmt.Sprintf("nobody does (%v)", err)
		}
		return ""
	})
	return w
}

// TestKubeManager takes a cluster of three VMs through its life: the whole
// manager, a real API server, a simulated MAAS. The test does the work of
// Cluster API's managers. The manager has the rights of a release for a single
// namespace. Its log may contain no refusal of the API server.
func TestKubeManager(t *testing.T) {
	t.Parallel()
	w := newScopedWorld(t, sim.Model{
		Zones:   []string{"az1", "az2"},
		Hosts:   []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384, Zone: "az1"}, {Name: "h2", Cores: 8, MemoryMiB: 16384, Zone: "az2"}},
		Latency: sim.Latency{Compose: 100 * time.Millisecond, Commission: 500 * time.Millisecond, Deploy: 500 * time.Millisecond, Release: 200 * time.Millisecond},
	})
	machinesBefore := len(w.maas.Machines())
	foreign := *w.world
	foreign.namespace = otherNamespace
	foreign.createCluster("foreign", nil)
	cluster := w.createCluster("c1", nil)
	for _, name := range []string{"cp-0", "w-0", "w-1"} {
		w.createMachine("c1", name, newVMSpec(), func(m *infrav1.MaasMachine) {
			if name == "cp-0" {
				makeControlPlane(m)
			}
		})
	}
	w.awaitProvisioned(cluster)
	if got := zonesOf(cluster); got != "az1 az2" {
		t.Errorf("the failure domains are %q", got)
	}
	template := &infrav1.MaasMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: scopedNamespace, Name: "workers"}}
	template.Spec.Template.Spec = infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(4), MinMemoryInMB: ptr.To(4096)}
	w.createObjects(template)
	w.awaitObject(template, "sized", func() string {
		if template.Status.Capacity.Cpu().Value() != 4 {
			return "an autoscaler is told nothing"
		}
		return ""
	})
	ids := map[string]bool{}
	for _, name := range []string{"cp-0", "w-0", "w-1"} {
		id := ptr.Deref(w.awaitReady(name).Spec.ProviderID, "")
		ids[id] = true
		if !strings.HasPrefix(id, "maas-lxd://az") {
			t.Errorf("%s has the providerID %q", name, id)
		}
	}
	if got := len(w.maas.Instances()); len(ids) != 3 || got != 3 {
		t.Errorf("three machines are %d, and %d VMs", len(ids), got)
	}
	w.awaitObject(cluster, "published", func() string {
		c := conditions.Get(cluster, infrav1.DNSReadyCondition)
		if c != nil && strings.Contains(c.Message, cluster.Spec.ControlPlaneEndpoint.Host+" points to 10.77.0.") {
			return ""
		}
		return "the API is not published"
	})
	w.wantScoped()
	w.wantMetrics()
	w.deleteCluster(cluster, machinesBefore, "w-1", "w-0", "cp-0")
	w.wantPublishedOnce()
	w.wantNoSecretsLogged()
}

func zonesOf(c *infrav1.MaasCluster) string {
	var zones []string
	for _, d := range c.Status.FailureDomains {
		zones = append(zones, d.Name)
	}
	return strings.Join(zones, " ")
}

// wantScoped: CAPMaaS logged its --namespace, and went on in all of them.
func (w *scopedWorld) wantScoped() {
	w.t.Helper()
	foreign := &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: otherNamespace, Name: "foreign"}}
	w.awaitObject(foreign, "is there", func() string { return "" })
	if len(foreign.Finalizers) > 0 || len(foreign.Status.Conditions) > 0 {
		w.t.Errorf("a cluster of another namespace was reconciled: %v, %+v", foreign.Finalizers, foreign.Status)
	}
}

// wantMetrics: the metrics tell what was done.
func (w *scopedWorld) wantMetrics() {
	w.t.Helper()
	for _, want := range []struct {
		name   string
		labels []string
		least  float64
	}{
		{"capmaas_maas_requests_total", []string{"method=POST", "route=vm-hosts/{id}/?op=compose", "result=200"}, 3},
		{"capmaas_maas_requests_total", []string{"method=POST", "route=machines/{id}/?op=deploy", "result=200"}, 3},
		{"capmaas_placements_total", []string{"result=placed"}, 3},
		{"capmaas_machines", []string{"mode=lxd", "phase=Deployed"}, 3},
		{"capmaas_machine_phase_duration_seconds", []string{"mode=lxd", "phase=Deploying"}, 3},
		{"capmaas_inventory_age_seconds", nil, 0.001},
	} {
		w.waitFor(want.name, func() string { // the phases are counted by a watch of their own
			if got := w.metricValue(want.name, want.labels...); got < want.least {
				return fmt.Sprintf("%v is %v, want %v at least", want.labels, got, want.least)
			}
			return ""
		})
	}
}

// metricValue is the value of a counter or gauge with these labels, in their order of
// name and value.
func (w *scopedWorld) metricValue(name string, labels ...string) float64 {
	w.t.Helper()
	families, err := w.metrics.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetName()+"="+l.GetValue())
			}
			missing := slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(have, l) })
			if !missing {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// wantPublishedOnce: no address was published that did not last.
func (w *scopedWorld) wantPublishedOnce() {
	w.t.Helper()
	if made, changed := w.maas.Journal().Count("POST dnsresources/"), w.maas.Journal().Count("PUT dnsresources/{id}/"); made != 1 || changed != 0 {
		w.t.Errorf("%d names were made, and changed %d times: an address was published that did not last", made, changed)
	}
}

// wantNoSecretsLogged: no log, however wordy, has a key or a token in it.
func (w *scopedWorld) wantNoSecretsLogged() {
	w.t.Helper()
	w.wantSecretUnlogged(w.maas)
	log := w.log.String()
	if !strings.Contains(log, "maas request") {
		w.t.Errorf("the engine's log is not passed on")
	}
	pair, err := os.ReadFile(filepath.Join(w.folder, fleetkey.KeyFile))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, pair := range []string{string(pair), w.key.Key} {
		lines := strings.Split(strings.TrimSpace(pair), "\n")
		if strings.Contains(log, lines[len(lines)-2]) {
			w.t.Errorf("the log shows a private key of the fleet")
		}
	}
}
