package cluster_test

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestPortOfAHost: a host that comes without a port gets the one that the
// cluster's API servers bind.
func TestPortOfAHost(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		binds  int32
		port   int32 // of the MaasCluster
		want   string
	}{
		"Network": {"The Cluster names the port that the API server binds.", 7443, 0, "api.maas:7443"},
		"Default": {"Nothing names a port.", 0, 0, "api.maas:6443"},
		"Both":    {"The user's value stays.", 7443, 443, "api.maas:443"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, func(c *clusterv1.Cluster, m *infrav1.MaasCluster) {
				c.Spec.ClusterNetwork.APIServerPort = tc.binds
				m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.maas", Port: tc.port}
			})
			if got := w.reconcileUntilSteady().Spec.ControlPlaneEndpoint.String(); got != tc.want {
				t.Errorf("%s\nthe endpoint is %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
