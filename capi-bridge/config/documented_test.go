package config_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/executable"
	"github.com/maaslxd/maaslxd/acctest/kubetest"
)

// commands finds the shell commands of a page.
var commands = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// standIns are programs that the documented commands find beside clusterctl. Images
// are not pushed, and what is applied is shown. The others do what they always do.
var standIns = map[string]string{
	"make": `for arg; do shift; [ "$arg" = docker-push ] || set -- "$@" "$arg"; done
[ "$1" != "${1#REGISTRY=}" ] || exec MAKE --no-print-directory -C 'ROOT' "DIST=$PWD/dist" "$@" >&2`,
	"kubectl": `[ "$1" != apply ] || exec cat`,
}

// followPage runs the commands of a page that are about clusters, and nothing else, as
// somebody would who has never heard of us. The version is installed in the end, and
// a cluster is one of our kinds.
func followPage(t *testing.T, c *kubetest.ControlPlane, page, version string) {
	t.Helper()
	folder, bin, made := t.TempDir(), writeStandIns(t), ""
	for i, release := range strings.Split(readPageCommands(t, page), "make docker-push")[1:] {
		before, after, found := strings.Cut(release, "\nclusterctl ")
		if !found {
			t.Fatalf("%s does not say how to install release %d", page, i+1)
		}
		runScript(t, folder, bin, "make docker-push"+before)
		// Cluster API's own providers would be downloaded.
		config := filepath.Join(folder, "dist", "clusterctl.yaml")
		ctl, err := c.NewClusterctl(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		for _, prepare := range []error{os.Rename(ctl.Config, config), ctl.WriteProgram(bin), ctl.InstallCertManagerKinds(t.Context())} {
			if prepare != nil {
				t.Fatal(prepare)
			}
		}
		if out := runScript(t, folder, bin, "clusterctl "+after); strings.Contains(out, "apiVersion:") {
			made = out // a release may follow on the one that a cluster is made with
		}
	}
	if made == "" {
		t.Fatalf("%s makes no cluster", page)
	}
	wantOurRelease(t, c, version, made)
}

// runScript runs a shell script in a folder, which finds the programs of another one
// first, and returns what it prints on standard output.
func runScript(t *testing.T, folder, bin, text string) string {
	t.Helper()
	var log strings.Builder
	cmd := exec.CommandContext(t.Context(), "sh", "-eu")
	cmd.Dir, cmd.Stdin, cmd.Stderr = folder, strings.NewReader(text), &log
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"MAAS_API_KEY=consumer:token:secret", "MAAS_API_URL=https://maas.example/MAAS")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, log.String(), text)
	}
	return string(out)
}

// wantOurRelease wants a version of ours, and a cluster of our template.
func wantOurRelease(t *testing.T, c *kubetest.ControlPlane, version, made string) {
	t.Helper()
	manager := &appsv1.Deployment{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "capmaas-controller-manager"}, manager); err != nil {
		t.Fatal(err)
	}
	if image := manager.Spec.Template.Spec.Containers[0].Image; image != "registry.example/maas/capi-bridge:"+version {
		t.Errorf("the manager is %s, want version %s of ours", image, version)
	}
	_, cluster, _ := strings.Cut(made, "apiVersion:")
	all, err := kubetest.ReadManifests([]byte("apiVersion:" + cluster))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, made)
	}
	kinds := map[string]int{}
	for _, object := range all {
		kinds[object.GetKind()]++
	}
	if kinds["MaasCluster"] != 1 || kinds["MaasMachineTemplate"] != 2 || !strings.Contains(made, "provisioningMode: lxd") {
		t.Errorf("the cluster is %v, want one of our template:\n%s", kinds, made)
	}
}

// readPageCommands are the commands of a page with clusterctl, or those beside them.
func readPageCommands(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, block := range commands.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "clusterctl") || strings.Contains(block[1], "kubectl") {
			script.WriteString(block[1])
		}
	}
	return script.String()
}

// writeStandIns is a folder with the stand-ins.
func writeStandIns(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("make")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range standIns {
		text = "#!/bin/sh\n" + strings.NewReplacer("ROOT", root, "MAKE", program).Replace(text) + "\n"
		if err := executable.WriteProgram(filepath.Join(folder, name), text); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// jsonPatch finds the JSON patch of a page.
var jsonPatch = regexp.MustCompile(`(?s)kubectl patch deployment (\S+) --namespace (\S+) --type=json --patch '(\[.*?\])'`)

// setAnotherFlag patches the Deployment of a release as the page says, and wants each argument
// beside the former ones, and the files that they name from the Secret.
func setAnotherFlag(t *testing.T, c *kubetest.ControlPlane) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/bridge-manager.md")
	if err != nil {
		t.Fatal(err)
	}
	found := jsonPatch.FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no patch of the Deployment")
	}
	manager := &appsv1.Deployment{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: string(found[2]), Name: string(found[1])}, manager); err != nil {
		t.Fatal(err)
	}
	before := manager.Spec.Template.Spec.Containers[0].Args
	if err := c.Client.Patch(t.Context(), manager, client.RawPatch(types.JSONPatchType, found[3]), client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	pod := manager.Spec.Template.Spec
	volumes, mounts := pod.Volumes, pod.Containers[0].VolumeMounts
	volume, mount := volumes[len(volumes)-1], mounts[len(mounts)-1]
	if volume.Secret == nil || volume.Name != mount.Name || !strings.Contains(string(page), "kubectl create secret generic "+volume.Secret.SecretName+" ") {
		t.Errorf("the Secret of the page is not mounted: %+v at %+v", volume, mount)
	}
	want := append(slices.Clone(before), "--ledger=https://ledger.example.com:7443")
	for flag, file := range map[string]string{"--ledger-ca": "ca.pem", "--ledger-cert": "client.crt", "--ledger-key": "client.key"} {
		want = append(want, flag+"="+mount.MountPath+"/"+file)
		if !strings.Contains(string(page), "--from-file="+file+"=") {
			t.Errorf("the Secret of the page has no %s", file)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(pod.Containers[0].Args))); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}
