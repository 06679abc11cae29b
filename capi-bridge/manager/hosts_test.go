package manager_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// hostModel is a MAAS whose machines become LXD hosts.
func hostModel(boots ...sim.FirstBoot) sim.Model {
	model := fastModel()
	model.Hosts, model.Machines = nil, nil
	for n, boot := range boots {
		model.Machines = append(model.Machines, sim.MachineModel{
			Hostname: fmt.Sprintf("node%d", n), Cores: 8, MemoryMiB: 32768, DiskGB: 500, Zone: "az1", FirstBoot: boot, Tags: []string{string(boot)},
		})
	}
	return model
}

func makeLXDHostCluster(c *infrav1.MaasCluster) {
	c.Spec.LXDControlPlaneCluster = ptr.To(true)
	c.Spec.LXDConfig = &infrav1.LXDHostConfig{StorageBackend: "dir", ResourcePool: "vms"}
}

// TestKubeLXDReadyIsTruthful: CAPMaaS said LXDReady of nodes on which no LXD was set
// up. Of two machines whose LXD one sets up, one is a host, and the cluster says so;
// and that none is, once somebody released that one.
func TestKubeLXDReadyIsTruthful(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hosts", hostModel(sim.BootOK, sim.BootFails))
	c := w.createReadyCluster("c", makeLXDHostCluster)
	for name, boot := range map[string]sim.FirstBoot{"good": sim.BootOK, "bad": sim.BootFails} {
		spec := newMetalSpec()
		spec.Tags = []string{string(boot)}
		w.createMachine("c", name, spec, makeControlPlane)
	}
	w.awaitReason("good", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
	w.awaitReady("bad") // its control plane could not wait for more
	w.awaitObject(c, "counts", func() string {
		if !strings.Contains(conditions.GetMessage(c, infrav1.LXDReadyCondition), "1 of 2") {
			return describeConditions(c)
		}
		return ""
	})
	if conditions.IsTrue(c, infrav1.LXDReadyCondition) || conditions.IsTrue(w.getMachine("bad"), infrav1.LXDReadyCondition) {
		t.Errorf("a machine without LXD is ready: %s\n%s", describeConditions(c), describeConditions(w.getMachine("bad")))
	}
	var hosts []string
	for _, m := range w.maas.Machines() {
		if m.HostedHosts != "" {
			hosts = append(hosts, m.Hostname)
		}
	}
	if len(hosts) != 1 || hosts[0] != *w.getMachine("good").Status.Hostname {
		t.Errorf("the hosts of MAAS are %v", hosts)
	}
	w.editMachine(*w.getMachine("good").Spec.SystemID, sim.MachineEdit{StatusName: ptr.To("Ready")})
	w.touchUntilReason("good", infrav1.LXDReadyCondition, infrav1.LXDFailedReason, "released")
	w.awaitObject(c, "no longer counts what was released", func() string {
		if !strings.Contains(conditions.GetMessage(c, infrav1.LXDReadyCondition), "0 of 2") {
			return describeConditions(c)
		}
		return ""
	})
}

// TestKubeNoTrustPassword: CAPMaaS let LXD hosts be reached by a password that was a
// hash of a public UID. Ours trust the fleet's certificate, and no password.
func TestKubeNoTrustPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "password", hostModel(sim.BootOK))
	w.createReadyCluster("c", makeLXDHostCluster)
	w.createMachine("c", "cp-0", newMetalSpec(), makeControlPlane)
	m := w.awaitReason("cp-0", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
	data, err := w.maas.UserData(w.awaitSystemID("cp-0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"trust_password", "PRIVATE KEY"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the machine boots with %q", secret)
		}
	}
	trusted := false
	for _, l := range w.maas.LXDs() {
		for _, c := range l.Trusted {
			trusted = trusted || strings.TrimSpace(c.Certificate) == strings.TrimSpace(w.key.Certificate)
		}
	}
	if !trusted {
		t.Errorf("no LXD trusts the fleet's certificate: %+v\n%s", w.maas.LXDs(), describeConditions(m))
	}
}

// TestKubeNoKeyIsCopied: CAPMaaS copied MAAS's key into each cluster whose machines
// were to become LXD hosts. It is where it was given and nowhere else. In the workload
// cluster, only the Node gets its providerID.
func TestKubeNoKeyIsCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "nokey", hostModel(sim.BootOK))
	kubeconfig, err := os.ReadFile(w.plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	w.createObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": kubeconfig},
	})
	c := w.createReadyCluster("c", makeLXDHostCluster)
	w.patchObject(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}, func(o client.Object) {
		o.(*clusterv1.Cluster).Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	})
	w.createMachine("c", "cp-0", newMetalSpec(), makeControlPlane)
	m := w.awaitReady("cp-0")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: *m.Status.Hostname}}
	w.createObjects(node)
	t.Cleanup(func() { _ = w.Delete(context.Background(), node) })
	w.awaitReason("cp-0", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
	w.touchUntilReason("cp-0", infrav1.NodeProviderIDSetCondition, infrav1.NodeProviderIDSetReason, "")
	w.awaitObject(node, "is known", func() string {
		if node.Spec.ProviderID != *m.Spec.ProviderID {
			return fmt.Sprintf("it has %q, want %s", node.Spec.ProviderID, *m.Spec.ProviderID)
		}
		return ""
	})
	w.awaitObject(c, "is reached", func() string {
		if !conditions.IsTrue(c, infrav1.APIServerAvailableCondition) {
			return describeConditions(c)
		}
		return ""
	})
	data, err := w.maas.UserData(*m.Spec.SystemID)
	if err != nil || !strings.Contains(string(data), bootstrapSecret) {
		t.Fatalf("%v; the machine boots with %s", err, data)
	}
	parts := strings.Split(w.maas.APIKey(), ":")[1:]
	for _, secret := range parts {
		if strings.Contains(string(data), secret) {
			t.Errorf("the machine boots with %q", secret)
		}
	}
	w.wantSecretsNowhere(parts...)
}

// wantSecretsNowhere looks through all that the API server has for secrets of a MAAS.
func (w *world) wantSecretsNowhere(secrets ...string) {
	w.t.Helper()
	found, err := discovery.NewDiscoveryClientForConfig(w.plane.Config)
	if err != nil {
		w.t.Fatal(err)
	}
	served, err := found.ServerPreferredResources()
	if err != nil {
		w.t.Fatal(err)
	}
	looked := 0
	for _, group := range served {
		for _, kind := range group.APIResources {
			if !slices.Contains(kind.Verbs, "list") || isForeignKind(group.GroupVersion, kind.Kind) {
				continue
			}
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.FromAPIVersionAndKind(group.GroupVersion, kind.Kind+"List"))
			if err := w.List(w.t.Context(), list); err != nil {
				w.t.Fatalf("cannot list %s: %v", kind.Name, err)
			}
			for _, o := range list.Items {
				looked++
				w.wantNoSecretIn(&o, secrets)
			}
		}
	}
	if looked < 100 {
		w.t.Errorf("only %d objects were looked at", looked)
	}
}

// isForeignKind tells of kinds that the manager has no right to write, and whose lists
// take a second each: definitions, and those of Cluster API.
func isForeignKind(group, kind string) bool {
	ours := strings.HasPrefix(group, infrav1.GroupVersion.Group)
	return kind == "CustomResourceDefinition" || strings.Contains(group, "cluster.x-k8s.io") && !ours
}

// wantNoSecretIn sees that an object has no such text in it, but the Secret that it was
// given in.
func (w *world) wantNoSecretIn(o *unstructured.Unstructured, secrets []string) {
	w.t.Helper()
	if o.GetKind() == "Secret" && o.GetNamespace() == cmp.Or(w.managerNamespace, w.namespace) && o.GetName() == w.namespace {
		return
	}
	text, err := json.Marshal(o)
	if err != nil {
		w.t.Fatal(err)
	}
	if o.GetKind() == "Secret" {
		s := &corev1.Secret{}
		if err := json.Unmarshal(text, s); err != nil {
			w.t.Fatal(err)
		}
		for _, value := range s.Data {
			text = append(text, value...)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(string(text), secret) {
			w.t.Errorf("%s %s/%s has a part of MAAS's key", o.GetKind(), o.GetNamespace(), o.GetName())
		}
	}
}
