package config_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestImage: on any system, "make docker-push" packs a program for Linux, and nothing
// else, and pushes that.
func TestImage(t *testing.T) {
	t.Parallel()
	context, bin := t.TempDir(), t.TempDir()
	asked := filepath.Join(bin, "asked")
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\nprintf '%s ' \"$@\" >> '"+asked+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, []string{"GOOS=windows", "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")},
		"docker-push", "CONTEXT="+context, "REGISTRY=registry.example/maas", "TAG="+first)
	got, err := os.ReadFile(asked)
	image := "registry.example/maas/capi-bridge:" + first
	if want := "build -f capi-bridge/Dockerfile -t " + image + " " + context + " push " + image + " "; err != nil || string(got) != want {
		t.Errorf("docker was asked to %q (%v), want %q", got, err, want)
	}
	program := filepath.Join(context, "capi-bridge")
	read, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if libraries, err := read.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program needs %q (%v), and the image has none", libraries, err)
	}
	if entries, err := os.ReadDir(context); err != nil || len(entries) != 1 {
		t.Errorf("the image gets %v (%v), want the program alone", entries, err)
	}
	if runtime.GOOS == "linux" {
		if out, err := exec.CommandContext(t.Context(), program, "manager", "--help").CombinedOutput(); err != nil {
			t.Errorf("the program does not run: %v\n%s", err, out)
		}
	}
}
