package e2e

import (
	"testing"

	"github.com/maaslxd/maaslxd/acctest/capi/conformance"
)

// testQuickStart is Cluster API's own first spec, with the template for users
// who name no flavor. All its machines are VMs.
func (w *world) testQuickStart(t *testing.T) {
	conformance.QuickStart(t, conformance.Input{
		Kubeconfig: w.plane.Kubeconfig, ClusterctlConfig: w.clusterctl.Config, Provider: "maas:" + providerVersion,
		Variables: templateVariables(), KubernetesVersion: version, ControlPlanes: 1, Workers: 1,
	})
}
