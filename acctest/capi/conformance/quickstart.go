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

// Input names what the spec runs against.
type Input struct {
	Kubeconfig        string // path of an administrator's kubeconfig
	ClusterctlConfig  string // path of a configuration that has the provider
	Provider          string // "maas:v0.1.0"
	Flavor            string // of the provider's cluster template; empty: the default one
	Variables         map[string]string
	KubernetesVersion string // "v1.36.2"
	ControlPlanes     int64
	Workers           int64
}

// specIntervals are how long the spec waits for each thing, and how often it
// looks.
var specIntervals = map[string][]string{
	"default/wait-cluster":        {"3m", "1s"},
	"default/wait-control-plane":  {"5m", "1s"},
	"default/wait-worker-nodes":   {"5m", "1s"},
	"default/wait-delete-cluster": {"3m", "1s"},
	"default/wait-controllers":    {"1m", "1s"},
}

// QuickStart runs Cluster API's spec of that name. A cluster from the
// provider's template becomes available, and none of its objects changes for
// two minutes. Then it is deleted with its namespace. All that takes some four
// minutes.
//
// The spec runner works once in a process. The process's own clients reach the
// cluster, too. Where only a proxy resolves the endpoint's name, set
// HTTPS_PROXY before the process makes its first request.
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

// checkVersionsStable fails the spec where objects of the cluster keep
// changing.
func checkVersionsStable(ctx context.Context, p framework.ClusterProxy, namespace, name string) {
	framework.ValidateResourceVersionStable(ctx, framework.ValidateResourceVersionStableInput{
		ClusterProxy: p, Namespace: namespace,
		OwnerGraphFilterFunction: cluster.FilterClusterObjectsWithNameFilter(name),
	})
}
