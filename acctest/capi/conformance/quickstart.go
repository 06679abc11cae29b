// Package conformance runs Cluster API's own end-to-end specs against an
// infrastructure provider.
package conformance

import (
	"context"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
)

// Input says what the spec is run against.
type Input struct {
	Kubeconfig        string // of an administrator, a path
	ClusterctlConfig  string // a path; it knows the provider
	Provider          string // "maas:v0.1.0"
	Flavor            string // of its cluster template; empty for the one without
	Variables         map[string]string
	KubernetesVersion string // "v1.36.2"
	ControlPlanes     int64
	Workers           int64
}

// specIntervals are how long the spec waits for what, and how often it looks.
var specIntervals = map[string][]string{
	"default/wait-cluster":        {"3m", "1s"},
	"default/wait-control-plane":  {"5m", "1s"},
	"default/wait-worker-nodes":   {"5m", "1s"},
	"default/wait-delete-cluster": {"3m", "1s"},
	"default/wait-controllers":    {"1m", "1s"},
}

// QuickStart runs the spec of that name: a cluster from the provider's
// template becomes available, none of its objects changes any more for two
// minutes, and it is deleted with its namespace. All that takes some four
// minutes.
//
// The spec runner serves a process once. The process's own clients reach the
// cluster, too: where its endpoint is a name that only a proxy resolves,
// HTTPS_PROXY must be set before the process makes its first request, and
// CLUSTERCTL_DISABLE_VERSIONCHECK keeps clusterctl off the network.
func QuickStart(t *testing.T, in Input) {
	t.Helper()
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctx, artifacts := t.Context(), t.TempDir()
	ginkgo.Describe("quick start with "+in.Provider, func() {
		e2e.QuickStartSpec(ctx, func() e2e.QuickStartSpecInput {
			kinds := runtime.NewScheme()
			framework.TryAddDefaultSchemes(kinds)
			return e2e.QuickStartSpecInput{
				E2EConfig:                &clusterctl.E2EConfig{Variables: map[string]string{e2e.KubernetesVersion: in.KubernetesVersion}, Intervals: specIntervals},
				BootstrapClusterProxy:    framework.NewClusterProxy("management", in.Kubeconfig, kinds),
				ClusterctlConfigPath:     in.ClusterctlConfig,
				ClusterctlVariables:      in.Variables,
				ArtifactFolder:           artifacts,
				InfrastructureProvider:   &in.Provider,
				Flavor:                   &in.Flavor,
				ControlPlaneMachineCount: &in.ControlPlanes,
				WorkerMachineCount:       &in.Workers,
				PostMachinesProvisioned:  func(p framework.ClusterProxy, namespace, name string) { checkVersionsStable(ctx, p, namespace, name) },
			}
		})
	})
	if !ginkgo.RunSpecs(t, "Cluster API's quick start") {
		t.Error("the spec failed; see above")
	}
}

// checkVersionsStable fails the spec where objects of the cluster go on changing.
func checkVersionsStable(ctx context.Context, p framework.ClusterProxy, namespace, name string) {
	framework.ValidateResourceVersionStable(ctx, framework.ValidateResourceVersionStableInput{
		ClusterProxy: p, Namespace: namespace,
		OwnerGraphFilterFunction: cluster.FilterClusterObjectsWithNameFilter(name),
	})
}
