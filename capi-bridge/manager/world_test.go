package manager_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// waitTimeout is how long a test waits for what must come.
const waitTimeout = 3 * time.Minute

// bootstrapSecret is what no log may show.
const bootstrapSecret = "abcdef.0123456789abcdef"

// world is a namespace and a simulated MAAS. The test does the work of Cluster
// API's managers.
type world struct {
	*stage
	t                *testing.T
	namespace        string // the namespace
	watchLabel       string // the watch label of what is made; empty: none
	maas             *sim.Server
	managerNamespace string // the manager's namespace, where identities' Secrets are; empty: space
}

// newWorld makes a world on the shared manager. Its clusters name the identity of
// its MAAS, which has the name of the namespace.
func newWorld(t *testing.T, space string, model sim.Model) *world {
	t.Helper()
	w := &world{stage: onStage(t), t: t, namespace: space, watchLabel: sharedSpace, managerNamespace: sharedSpace}
	w.maas = w.startMAAS(space, model)
	w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}})
	w.createIdentity(space, w.maas.URL, w.maas.APIKey(), space)
	t.Cleanup(func() { w.wantSecretUnlogged(w.maas) })
	return w
}

// startMAAS starts a MAAS that nobody else has the key of.
func (w *world) startMAAS(name string, model sim.Model) *sim.Server {
	w.t.Helper()
	model.AdminKey = fmt.Sprintf("consumer:token-%s:secret-%s", name, name)
	return sim.StartServer(w.t, model)
}

// fastModel is a MAAS with three zones, LXD hosts in two of them, and two machines.
func fastModel() sim.Model {
	return sim.Model{
		Zones: []string{"az1", "az2"}, Pools: []string{"vms"}, Tags: []string{"gpu", "nvme"},
		Hosts: []sim.HostModel{
			{Name: "h1", Cores: 16, MemoryMiB: 65536, Zone: "az1"},
			{Name: "h2", Cores: 16, MemoryMiB: 65536, Zone: "az2"},
		},
		Machines: []sim.MachineModel{
			{Hostname: "small", Cores: 4, MemoryMiB: 8192, DiskGB: 100, Zone: "az1", Tags: []string{"gpu"}},
			{Hostname: "metal", Cores: 8, MemoryMiB: 32768, DiskGB: 500, Zone: "az1", Tags: []string{"gpu", "nvme"}},
		},
		Latency: sim.Latency{Compose: 40 * time.Millisecond, Commission: 200 * time.Millisecond, Deploy: 200 * time.Millisecond, Release: 100 * time.Millisecond},
	}
}

func (w *world) createObjects(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		if err := w.Create(w.t.Context(), o); err != nil {
			w.t.Fatalf("cannot make %T %s: %v", o, o.GetName(), err)
		}
	}
}

// createIdentity makes a MaasClusterIdentity, with a Secret in the manager's namespace,
// for the clusters of some namespaces. Without a key there is no Secret.
func (w *world) createIdentity(name, url, key string, namespaces ...string) {
	w.t.Helper()
	w.createObjects(&infrav1.MaasClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: infrav1.MaasClusterIdentitySpec{
		Endpoint: url, SecretRef: infrav1.SecretReference{Name: name},
		AllowedNamespaces: &infrav1.AllowedNamespaces{List: namespaces},
	}})
	if key != "" {
		w.createObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(w.managerNamespace, w.namespace), Name: name}, StringData: map[string]string{infrav1.CredentialsKey: key}})
	}
}

func (w *world) addWatchLabel(more map[string]string) map[string]string {
	all := maps.Clone(more)
	if w.watchLabel != "" {
		all[clusterv1.WatchLabel] = w.watchLabel
	}
	return all
}

// createCluster makes a Cluster and its MaasCluster, which it owns, on the world's MAAS.
// change may change it before; nil leaves it.
func (w *world) createCluster(name string, change func(*infrav1.MaasCluster)) *infrav1.MaasCluster {
	w.t.Helper()
	labels := w.addWatchLabel(map[string]string{clusterv1.ClusterNameLabel: name})
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "MaasCluster", Name: name,
		}},
	}
	w.createObjects(cluster)
	c := &infrav1.MaasCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: name, UID: cluster.UID}},
		},
		Spec: infrav1.MaasClusterSpec{DNSDomain: "maas"},
	}
	if w.watchLabel != "" {
		c.Spec.IdentityRef = &infrav1.MaasIdentityReference{Name: w.namespace}
	}
	if change != nil {
		change(c)
	}
	w.createObjects(c)
	return c
}

// awaitProvisioned waits until a MaasCluster is provisioned, and notes in its Cluster what
// Cluster API's manager would.
func (w *world) awaitProvisioned(c *infrav1.MaasCluster) {
	w.t.Helper()
	w.awaitObject(c, "provisioned", func() string {
		if !ptr.Deref(c.Status.Initialization.Provisioned, false) {
			return describeConditions(c) + " not provisioned"
		}
		return ""
	})
	w.patchObject(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}, func(o client.Object) {
		o.(*clusterv1.Cluster).Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	})
}

// createReadyCluster is a cluster that machines can be made in.
func (w *world) createReadyCluster(name string, change func(*infrav1.MaasCluster)) *infrav1.MaasCluster {
	w.t.Helper()
	c := w.createCluster(name, change)
	w.awaitProvisioned(c)
	return c
}

// patchObject changes an object that is there, its status included.
func (w *world) patchObject(o client.Object, change func(client.Object)) {
	w.t.Helper()
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		w.t.Fatal(err)
	}
	before := o.DeepCopyObject().(client.Object)
	change(o)
	after := o.DeepCopyObject().(client.Object)
	if err := w.Patch(w.t.Context(), o, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
	switch o.(type) {
	case *corev1.Secret, *corev1.Namespace, *infrav1.MaasClusterIdentity:
		return
	}
	before.SetResourceVersion("")
	after.SetResourceVersion("")
	if err := w.Status().Patch(w.t.Context(), after, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// newVMSpec and metal are what most machines of the tests are.
func newVMSpec() infrav1.MaasMachineSpec {
	return infrav1.MaasMachineSpec{
		Image: "ubuntu/noble", ProvisioningMode: ptr.To(infrav1.ProvisioningModeLXD), MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(2048), MinDiskSizeInGB: ptr.To(10),
	}
}

func newMetalSpec() infrav1.MaasMachineSpec {
	return infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096)}
}

// createMachine makes a Machine with bootstrap data, and its MaasMachine. change may
// change that before; nil leaves it.
func (w *world) createMachine(cluster, name string, spec infrav1.MaasMachineSpec, change func(*infrav1.MaasMachine)) {
	w.t.Helper()
	infra := &infrav1.MaasMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: w.addWatchLabel(map[string]string{clusterv1.ClusterNameLabel: cluster})}, Spec: spec,
	}
	if change != nil {
		change(infra)
	}
	w.createObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-bootstrap"},
		StringData: map[string]string{"value": "#cloud-config\nwrite_files:\n- path: /etc/token\n  content: " + bootstrapSecret + "\n", "format": "cloud-config"},
	})
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: infra.Labels},
		Spec: clusterv1.MachineSpec{
			ClusterName: cluster, Version: "v1.36.2", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To(name + "-bootstrap")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "MaasMachine", Name: name},
		},
	}
	w.createObjects(machine)
	infra.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID, Controller: ptr.To(true),
	}}
	w.createObjects(infra)
}

// makeControlPlane makes a machine one of the control plane.
func makeControlPlane(m *infrav1.MaasMachine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" }

// lines is a log that is read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) add(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(&l.b, prefix, args)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lastLinesAbout are the last lines that name a namespace.
func (l *lines) lastLinesAbout(space string) string {
	var all []string
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, `"`+space+`"`) && !strings.Contains(line, "clustercache") {
			all = append(all, line)
		}
	}
	return strings.Join(all[max(0, len(all)-15):], "")
}

// wantSecretUnlogged: no log, however wordy, shows the key of a MAAS or what machines boot
// with; nor had the API server to refuse anything.
func (w *world) wantSecretUnlogged(of *sim.Server) {
	w.t.Helper()
	secrets := append(strings.Split(of.APIKey(), ":")[1:], bootstrapSecret) // the consumer's part is no secret
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "forbidden") {
			w.t.Errorf("the manager lacks rights: %s", line)
		}
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(line, s) }) {
			w.t.Errorf("the log shows a secret: %s", line)
		}
	}
}

// leftDNSNames are those in MAAS's DNS that no machine has.
func leftDNSNames(t *testing.T, s *sim.Server) string {
	t.Helper()
	c, err := maas.New(maas.Config{URL: s.URL, APIKey: s.APIKey()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var left []string
	for _, call := range s.Journal().Calls {
		label := call.Form["name"]
		if call.Route != "POST dnsresources/" || len(label) == 0 {
			continue
		}
		record, err := c.DNS.DNSRecord(t.Context(), engine.DNSName{Label: label[0], Domain: "maas"})
		if !errors.Is(err, engine.ErrNotFound) {
			left = append(left, fmt.Sprintf("%s: %v %v", label[0], record, err))
		}
	}
	return strings.Join(left, ", ")
}
