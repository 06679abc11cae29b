package config_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeClusterClass: Cluster API's own managers make a cluster of a class out of
// our templates, and other templates when it changes. They find out by dry
// runs what would change, which the webhooks must let through. Ours runs beside
// them as it was installed: with the shipped arguments and rights. In the end
// another release takes its place.
func TestKubeClusterClass(t *testing.T) {
	t.Parallel()
	c := kubetest.StartForTest(t, kubetest.Options{ControllerManager: true})
	dist := t.TempDir()
	ctl, err := c.NewClusterctl(t.Context(), clusterctlConfig(makeRelease(t, dist, firstVersion)))
	if err != nil {
		t.Fatal(err)
	}
	ctl.Variables["CLUSTER_TOPOLOGY"] = "true"
	if err := ctl.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	program := buildManager(t)
	ours := runManager(t, c, program)
	if _, err := c.RunCAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	example, err := kubetest.ReadManifestFiles("../../examples/capi/clusterclass.yaml")
	if err != nil {
		t.Fatal(err)
	}
	applyObjects(t, c, example)

	api := newTypedClient(t, c)
	cluster := &clusterv1.Cluster{}
	waitUntil(t, "the cluster to be made", func() bool { return isReconciled(t, api, cluster) })
	if ref := cluster.Spec.InfrastructureRef; ref.Kind != "MaasCluster" {
		t.Errorf("the cluster's infrastructure is %+v", ref)
	}
	maas, key := &infrav1.MaasCluster{}, client.ObjectKey{Namespace: "default", Name: cluster.Spec.InfrastructureRef.Name}
	if err := api.Get(t.Context(), key, maas); err != nil || maas.Spec.DNSDomain != "maas" {
		t.Errorf("the MaasCluster has the domain %q: %v", maas.Spec.DNSDomain, err)
	}
	wantRights(t, api, ours, key)
	before := listWorkerCores(t, api)
	if len(before) != 1 || before[0] != 2 {
		t.Fatalf("the workers' templates have %v cores, want [2]", before)
	}

	asked := cluster.DeepCopy()
	cluster.Spec.Topology.Variables[0].Value.Raw = []byte("4")
	if err := api.Patch(t.Context(), cluster, client.MergeFrom(asked)); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "another template for the workers", func() bool {
		return slices.Contains(listWorkerCores(t, api), 4)
	})
	makeRelease(t, dist, newerVersion)
	next := upgradeRelease(t, c, ctl, api, ours)
	next.wantMachineUnchanged(t, func() { runManager(t, c, program) })
}

// newTypedClient is a client that knows Cluster API's kinds and ours.
func newTypedClient(t *testing.T, c *kubetest.ControlPlane) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// isReconciled reads the cluster, and tells whether all of it is made. A try that fails
// is logged: managers that have just started may not know all kinds yet.
func isReconciled(t *testing.T, api client.Client, cluster *clusterv1.Cluster) bool {
	t.Helper()
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "classy"}, cluster); err != nil {
		t.Fatal(err)
	}
	done := conditions.Get(cluster, clusterv1.ClusterTopologyReconciledCondition)
	if done != nil && done.Reason == clusterv1.ClusterTopologyReconciledFailedReason {
		t.Logf("the cluster cannot be made yet: %s", done.Message)
	}
	return done != nil && done.Status == metav1.ConditionTrue
}

// listWorkerCores are the cores of the templates that were made for the
// workers.
func listWorkerCores(t *testing.T, api client.Client) []int {
	t.Helper()
	list := &infrav1.MaasMachineTemplateList{}
	err := api.List(t.Context(), list, client.InNamespace("default"), client.HasLabels{clusterv1.ClusterTopologyMachineDeploymentNameLabel})
	if err != nil {
		t.Fatal(err)
	}
	var cores []int
	for _, template := range list.Items {
		cores = append(cores, *template.Spec.Template.Spec.MinCPU)
	}
	return cores
}

// waitUntil waits until something holds, for two minutes at most.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	began := time.Now()
	for deadline := began.Add(2 * time.Minute); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited two minutes for %s", what)
		}
	}
	t.Logf("%s: after %.1fs", what, time.Since(began).Seconds())
}
