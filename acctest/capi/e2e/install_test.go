package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// providerVersion is the version under which the provider is installed.
// metadata.yaml has its series.
const providerVersion = "v0.10.0"

// installProvider installs the provider as its users do, makes the additional
// objects, and then runs all managers.
func (w *world) installProvider(t *testing.T, more ...client.Object) {
	t.Helper()
	k, err := w.plane.NewClusterctl(t.Context(), filepath.Join(w.releaseFolder, "clusterctl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.clusterctl = k
	if err := k.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.createObjects(t, append(more, w.credentials()...)...)
	if w.capiManagers, err = w.plane.RunCAPI(t.Context(), w.environment()...); err != nil {
		t.Fatal(err)
	}
	w.manager, err = w.plane.RunManager(t.Context(), kubetest.Manager{
		Program: w.managerProgram, Namespace: infrav1.DefaultNamespace, Deployment: "capmaas-controller-manager", Env: w.environment(), Elects: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the manager leads", simPolling, func(ctx context.Context) string {
		leader, err := w.plane.Leader(ctx, client.ObjectKey{Namespace: infrav1.DefaultNamespace, Name: infrav1.LeaderElectionID})
		if err != nil || leader == "" {
			return fmt.Sprintf("nobody does (%v)", err)
		}
		return ""
	}, w.manager.Tail)
}

// manifestsFolder is the folder that "make manifests" writes.
func manifestsFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", repositoryRoot(t), "manifests", "DIST="+folder, "REGISTRY=registry.example", "TAG="+providerVersion)
	cmd.Env = slices.DeleteFunc(slices.Clone(outerEnvironment), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "GOFLAGS=") })
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make manifests: %v\n%s", err, out)
	}
	return folder
}

// buildManager builds the manager's program as it is in the image.
func buildManager(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "capi-bridge")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./capi-bridge")
	cmd.Dir, cmd.Env = repositoryRoot(t), append(slices.Clone(outerEnvironment), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}
