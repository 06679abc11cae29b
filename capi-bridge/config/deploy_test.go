package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/maaslxd/maaslxd/acctest/executable"
	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

// TestKubeDeploy: "make deploy" has kubectl apply what clusterctl would install, with the
// variables of its environment, and leaves clusters to kubectl's own choice.
func TestKubeDeploy(t *testing.T) {
	t.Parallel()
	clusterctl := buildClusterctl(t)
	dist, bin := t.TempDir(), t.TempDir()
	asked, applied := filepath.Join(bin, "asked"), filepath.Join(bin, "applied.yaml")
	kubectl := "#!/bin/sh\nprintf '%s ' \"$@\" >> '" + asked + "'\nexec cat > '" + applied + "'\n"
	// The Makefile's own "go tool clusterctl" is another build of the same, of minutes.
	tool := "#!/bin/sh\n[ \"$1\" != clusterctl ] || { shift; exec '" + clusterctl + "' \"$@\"; }\nexec go tool -modfile=acctest/tools/kube/go.mod \"$@\"\n"
	for name, text := range map[string]string{"kubectl": kubectl, "kube": tool} {
		if err := executable.WriteProgram(filepath.Join(bin, name), text); err != nil {
			t.Fatal(err)
		}
	}
	runMake(t, []string{
		"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "CAPMAAS_COMPOSER=lxd",
		"XDG_CONFIG_HOME=" + t.TempDir(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", // it is nobody's who runs the tests
	}, "deploy", "KUBE=kube", "DIST="+dist, "REGISTRY=registry.example/maas", "TAG="+firstVersion)
	got, err := os.ReadFile(asked)
	if want := "apply --server-side -f - "; err != nil || string(got) != want {
		t.Errorf("kubectl was asked to %q (%v), want %q", got, err, want)
	}
	all, err := kubetest.ReadManifestFiles(applied)
	if err != nil {
		t.Fatal(err)
	}
	shipped := filepath.Join(dist, "infrastructure-maas", firstVersion, componentsFile)
	if diff := cmp.Diff(readObjects(t, shipped, map[string]string{"CAPMAAS_COMPOSER": "lxd"}), all); diff != "" {
		t.Errorf("what is applied is not what is shipped: -want +got:\n%s", diff)
	}
	manager := objectsOfKind[appsv1.Deployment](t, "Deployment", all)[0].Spec.Template.Spec.Containers[0]
	if manager.Image != "registry.example/maas/capi-bridge:"+firstVersion || !slices.Contains(manager.Args, "--composer=lxd") {
		t.Errorf("the manager is %s with %q", manager.Image, manager.Args)
	}
}

// buildClusterctl is the program. Where it cannot be built, because its modules are neither
// in the module cache nor to be had, the test is skipped and says so.
func buildClusterctl(t *testing.T) string {
	t.Helper()
	builder, err := programs.NewBuilder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var unavailable *programs.BuildError
	built, err := builder.Build(t.Context(), programs.Clusterctl)
	switch {
	case errors.As(err, &unavailable):
		t.Skipf("skipped: there is no clusterctl: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	return built.Path(programs.Clusterctl)
}
