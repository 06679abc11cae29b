package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/capi/workload"
	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

const (
	domain       = "example.com"
	version      = "v1.36.2"
	newerVersion = "v1.36.3"
	// hostPool is the resource pool of the machines that become LXD hosts.
	hostPool = "hosts"
	// metalPool is the pool of the machines of the cluster without VMs.
	metalPool = "metal"
	// sparePool is the pool of a control plane of bare metal with one machine
	// to spare.
	sparePool = "spare"
)

// imageName is the image with a version's kubelet.
func imageName(version string) string { return "custom/ubuntu-" + version }

// maasModel is a MAAS with three zones. Each zone has an LXD host, and bare
// metal for workers and for hosts. There are some machines more.
func maasModel() sim.Model {
	m := sim.Model{
		LXDListen: sim.LXDListenAuto, Zones: []string{"az1", "az2", "az3"}, Pools: []string{hostPool, metalPool, sparePool}, Domains: []string{domain},
		Images: []string{"ubuntu/noble", imageName(version), imageName(newerVersion)},
		Latency: sim.Latency{
			Compose: 200 * time.Millisecond, Commission: time.Second, Deploy: time.Second, FirstBoot: time.Second,
			Release: 500 * time.Millisecond, Delete: 100 * time.Millisecond,
		},
	}
	for _, zone := range m.Zones {
		m.Hosts = append(m.Hosts, sim.HostModel{Name: "lxd-" + zone, Zone: zone, Cores: 32, MemoryMiB: 131072})
		m.Machines = append(m.Machines,
			sim.MachineModel{Hostname: "metal-" + zone, Zone: zone, Cores: 8, MemoryMiB: 32768, DiskGB: 500},
			sim.MachineModel{Hostname: "host-" + zone, Zone: zone, Pool: hostPool, Cores: 16, MemoryMiB: 65536, DiskGB: 500},
		)
	}
	for _, name := range []string{"bare-1", "bare-2"} {
		m.Machines = append(m.Machines, sim.MachineModel{Hostname: name, Zone: "az1", Pool: metalPool, Cores: 8, MemoryMiB: 32768, DiskGB: 500})
	}
	for n, zone := range []string{"az1", "az1", "az2", "az3"} {
		m.Machines = append(m.Machines, sim.MachineModel{Hostname: fmt.Sprintf("spare-%d", n), Zone: zone, Pool: sparePool, Cores: 8, MemoryMiB: 32768, DiskGB: 500})
	}
	return m
}

// world is a management cluster with all of its managers, and the MAAS on which
// they make clusters.
type world struct {
	client.Client
	plane          *kubetest.ControlPlane
	clusterctl     *kubetest.Clusterctl
	manager        *kubetest.RunningManager
	capiManagers   []*kubetest.RunningManager // Cluster API's own managers
	releaseFolder  string                     // what a release ships
	managerProgram string                     // the bridge's manager
	maas           *sim.Server                // nil where MAAS is another process or a real one
	site           workload.Site              // machines and names, as users see them
	api            *realmaas.Client           // MAAS's API
	url, key       string                     // of MAAS
	workloads      *workload.Workloads        // nil where machines really boot
	secrets        *secrets                   // of all management clusters together
	polling        polling
}

// newWorld starts the simulator and all managers.
func newWorld(t *testing.T) *world {
	t.Helper()
	maas := sim.StartServer(t, maasModel())
	w := &world{maas: maas, url: maas.URL, key: maas.APIKey(), site: workload.Simulated{Sim: maas.Sim}, polling: simPolling}
	w.startManagers(t, &workload.Options{Site: w.site})
	return w
}

// startManagers starts all processes but MAAS. Without options no machines are
// simulated.
func (w *world) startManagers(t *testing.T, played *workload.Options) {
	t.Helper()
	var err error
	if w.api == nil {
		if w.api, err = realmaas.NewClient(w.url, w.key); err != nil {
			t.Fatal(err)
		}
	}
	w.plane, w.secrets = kubetest.StartForTest(t, kubetest.Options{ControllerManager: true}), &secrets{}
	w.releaseFolder, w.managerProgram = manifestsFolder(t), buildManager(t)
	w.Client = newClient(t, w.plane)
	if played != nil {
		played.ProxyAddress, played.Log = proxyAddress, t.Logf
		if w.workloads, err = workload.StartMachines(t.Context(), *played); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.workloads.Stop)
	}
	w.installProvider(t)
}

// environment has the variables by which the managers reach the clusters.
func (w *world) environment() []string {
	if w.workloads == nil {
		return nil // this system's resolver finds them
	}
	return w.workloads.Environment()
}

func newClient(t *testing.T, plane *kubetest.ControlPlane) client.Client {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(plane.Config, client.Options{Scheme: kinds})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) createObjects(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := w.Create(t.Context(), o); err != nil {
			t.Fatalf("cannot create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// credentials are what a user gives the manager after "clusterctl init".
func (w *world) credentials() []client.Object {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: name}
	}
	return []client.Object{
		&corev1.Secret{ObjectMeta: named(infrav1.CredentialsSecret), StringData: map[string]string{infrav1.CredentialsKey: w.key}},
		&corev1.ConfigMap{ObjectMeta: named(infrav1.EndpointConfigMap), Data: map[string]string{infrav1.EndpointKey: w.url}},
	}
}

// readManagerLog is everything that the manager has printed.
func (w *world) readManagerLog(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(w.manager.Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// waitFor asks again and again until nothing is missing. When the time is over
// it fails with the last answer and a description of the state.
func waitFor(t *testing.T, what string, p polling, missing func(context.Context) string, explain func() string) {
	t.Helper()
	began, last := time.Now(), ""
	for time.Since(began) < p.timeout {
		why := missing(t.Context())
		if why == "" {
			t.Logf("%s: after %.1fs", what, time.Since(began).Seconds())
			return
		}
		if why != last {
			t.Logf("%6.1fs %s: %s", time.Since(began).Seconds(), what, why)
			last = why
		}
		time.Sleep(p.interval)
	}
	t.Fatalf("%s: not in %s: %s\n%s", what, p.timeout, last, explain())
}

// polling is how long a change of a cluster may take, and how often the test
// looks for it.
type polling struct{ timeout, interval time.Duration }

// simPolling is for a simulator in this process.
var simPolling = polling{4 * time.Minute, 200 * time.Millisecond}

// repositoryRoot is the path of the repository's root.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
