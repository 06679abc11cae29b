package config_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// buildManager builds the manager's program as the image has it.
func buildManager(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "capi-bridge")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// runManager runs the manager with the arguments and the rights that its
// Deployment has, until it leads: one that was stopped has made way. But it looks at
// machines more often: simulated ones are quick.
func runManager(t *testing.T, c *kubetest.ControlPlane, program string) *kubetest.RunningManager {
	t.Helper()
	running, err := c.RunManager(t.Context(), kubetest.Manager{
		Program: program, Namespace: namespace, Deployment: "capmaas-controller-manager", Args: []string{"--maas-poll-interval=200ms"}, Elects: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the manager to lead", func() bool {
		leader, err := c.Leader(t.Context(), client.ObjectKey{Namespace: namespace, Name: infrav1.LeaderElectionID})
		if err != nil {
			t.Fatal(err)
		}
		return leader != ""
	})
	return running
}

// wantRights wants the manager to say of a cluster that it finds no credentials:
// for that it has listed, watched, looked for Secrets, and patched.
func wantRights(t *testing.T, api client.Client, running *kubetest.RunningManager, cluster client.ObjectKey) {
	t.Helper()
	maas := &infrav1.MaasCluster{}
	waitUntil(t, "the manager's word on the cluster", func() bool {
		if err := api.Get(t.Context(), cluster, maas); err != nil {
			t.Fatal(err)
		}
		found := conditions.Get(maas, infrav1.IdentityReadyCondition)
		return found != nil && found.Reason == infrav1.CredentialsNotFoundReason
	})
	wantNoForbidden(t, running)
}

// wantNoForbidden holds that the shipped rights do.
func wantNoForbidden(t *testing.T, running *kubetest.RunningManager) {
	t.Helper()
	log, err := os.ReadFile(running.Log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "forbidden") {
			t.Errorf("the shipped rights do not suffice: %s", line)
		}
	}
}
