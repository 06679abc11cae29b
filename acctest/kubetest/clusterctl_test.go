package kubetest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

// TestKubeClusterctlInitThenManagers: clusterctl installs Cluster API and a
// provider without a network. Their managers run as their Deployments say, and
// answer the API server.
func TestKubeClusterctlInitThenManagers(t *testing.T) {
	t.Parallel()
	c := StartForTest(t, Options{ControllerManager: true})
	k, err := c.NewClusterctl(t.Context(), toyConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	k.Variables["CLUSTER_TOPOLOGY"], k.Variables["TOY_VERBOSITY"] = "true", "4"
	if err := k.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	managers, err := c.RunCAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if args := managers[0].Args; !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "ClusterTopology=true") }) {
		t.Errorf("the variable of clusterctl did not reach the manager: %q", args)
	}
	wantBadClustersRefused(t, c)
	managers[0].Kill()
	if _, err := c.RunComponent(t.Context(), programs.Components[0]); err != nil {
		t.Fatal(err)
	}
	wantBadClustersRefused(t, c)
	runToy(t, c)
}

// toyConfig is a configuration of clusterctl with the provider of testdata.
func toyConfig(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("testdata/infrastructure-toy/v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "clusterctl.yaml")
	text := "providers: [{name: toy, type: InfrastructureProvider, url: " + folder + "/infrastructure-components.yaml}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// wantBadClustersRefused calls the core manager's webhook through the API
// server. Only the webhook checks the format of a version, because no schema
// does.
func wantBadClustersRefused(t *testing.T, c *ControlPlane) {
	t.Helper()
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a", "namespace": "default"},
		"spec":     map[string]any{"topology": map[string]any{"classRef": map[string]any{"name": "x"}, "version": "newest"}},
	}}
	cluster.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"})
	err := c.Client.Create(t.Context(), cluster)
	if err == nil || !strings.Contains(err.Error(), "cluster.cluster.x-k8s.io") || !strings.Contains(err.Error(), "newest") {
		t.Errorf("the core manager's webhook was not asked: %v", err)
	}
}

// runToy checks how a Deployment becomes a process.
func runToy(t *testing.T, c *ControlPlane) {
	toy := Manager{Program: os.Args[0], Namespace: "toy-system", Deployment: "toy-controller-manager", Args: []string{"--namespace=only"}, Env: []string{"EXTRA=1"}}
	running, err := c.RunManager(t.Context(), toy)
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(c.Dir, "toy-controller-manager")
	text, err := os.ReadFile(filepath.Join(home, "started.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found managerStart
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--leader-elect", "--v=4", "--ledger=" + filepath.Join(home, "ledger", "ledger.db"), "--leader-elect=false", "--namespace=only"} {
		if !slices.Contains(found.Args, want) {
			t.Errorf("the arguments %q lack %s", found.Args, want)
		}
	}
	for _, want := range []string{"POD_NAMESPACE=toy-system", "ENDPOINT=http://maas.example.com/MAAS", "EXTRA=1"} {
		if !slices.Contains(found.Environment, want) {
			t.Errorf("the environment %q lacks %s", found.Environment, want)
		}
	}
	if slices.ContainsFunc(found.Environment, func(v string) bool { return strings.HasPrefix(v, "TOKEN=") }) {
		t.Error("a variable from an optional Secret that is not there has a value")
	}
	running.Stop()
	select {
	case <-running.Done():
	default:
		t.Error("the manager runs after Stop")
	}
	wantClaimLost(t, c, toy, filepath.Join(home, "ledger", "ledger.db"))
}

// wantClaimLost checks that a manager does not start on a volume that is being
// deleted. On the next volume it must find none of the old files.
func wantClaimLost(t *testing.T, c *ControlPlane, toy Manager, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: toy.Namespace, Name: "toy-ledger"}, claim); err != nil {
		t.Fatal(err)
	}
	next := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name}, Spec: claim.Spec}
	if err := c.Client.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RunManager(t.Context(), toy); err == nil || !strings.Contains(err.Error(), "toy-ledger is being deleted") {
		t.Errorf("it runs on a claim that is being deleted: %v", err)
	}
	if err := c.Client.Patch(t.Context(), claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	toy.Elects = true
	running, err := c.RunManager(t.Context(), toy)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(running.Args, "--leader-elect=false") {
		t.Errorf("a manager that can elect a leader is kept from it: %q", running.Args)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it finds what was on the claim before: %v", err)
	}
}
