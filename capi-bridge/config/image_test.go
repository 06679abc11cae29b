package config_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/executable"
)

// TestKubeImage: on any system, "make docker-push" packs a program for Linux, and the
// licences of its parts, and pushes that.
func TestKubeImage(t *testing.T) {
	t.Parallel()
	context, bin := t.TempDir(), t.TempDir()
	asked := filepath.Join(bin, "asked")
	if err := executable.WriteProgram(filepath.Join(bin, "docker"), "#!/bin/sh\nprintf '%s ' \"$@\" >> '"+asked+"'\n"); err != nil {
		t.Fatal(err)
	}
	runMake(t, []string{"GOOS=windows", "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")},
		"docker-push", "CONTEXT="+context, "REGISTRY=registry.example/maas", "TAG="+firstVersion, "DIST="+filepath.Join(bin, "dist"), "PLATFORMS=linux/"+runtime.GOARCH)
	got, err := os.ReadFile(asked)
	image := "registry.example/maas/capi-bridge:" + firstVersion
	if want := "buildx build -f capi-bridge/Dockerfile -t " + image + " --platform linux/" + runtime.GOARCH + " --push " + context + " "; err != nil || string(got) != want {
		t.Errorf("docker was asked to %q (%v), want %q", got, err, want)
	}
	program := filepath.Join(context, runtime.GOARCH, "capi-bridge")
	read, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if libraries, err := read.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program needs %q (%v), and the image has none", libraries, err)
	}
	var files []string
	entries, err := os.ReadDir(context)
	for _, e := range entries {
		files = append(files, e.Name())
	}
	if want := "LICENSE NOTICE THIRD-PARTY-LICENSES " + runtime.GOARCH; err != nil || strings.Join(files, " ") != want {
		t.Errorf("the image gets %q (%v), want %s", files, err, want)
	}
	if runtime.GOOS == "linux" {
		if out, err := exec.CommandContext(t.Context(), program, "manager", "--help").CombinedOutput(); err != nil {
			t.Errorf("the program does not run: %v\n%s", err, out)
		}
	}
}

// TestImagePlatforms: unless told otherwise, the image is pushed for both
// architectures that MAAS deploys most.
func TestImagePlatforms(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "-n", "docker-push").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"--platform linux/amd64,linux/arm64 --push", "GOARCH=arm64", "GOARCH=amd64"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not among what is run:\n%s", want, out)
		}
	}
}
