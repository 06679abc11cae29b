package acctest_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// TestScriptMirror installs the provider from the output of "make mirror", in
// an empty home, with each available CLI.
func TestScriptMirror(t *testing.T) {
	t.Parallel()
	dist := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "make", "--no-print-directory", "-C", "..", "mirror", "DIST="+dist)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make mirror: %v\n%s", err, out)
	}
	for _, name := range []string{"terraform", "tofu"} {
		t.Run(name, func(t *testing.T) {
			path := findCLI(name)
			if path == "" {
				t.Skipf("%s is neither on PATH nor in .tools: the mirror was not tried with it", name)
			}
			if err := cli.InstallFromMirror(ctx, path, filepath.Join(dist, "mirror"), ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// findCLI is the path of a CLI on PATH or of the OpenTofu that was built here.
// It is empty where there is none.
func findCLI(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	built, err := filepath.Glob(filepath.Join("..", ".tools", "opentofu-*", name))
	if err != nil || len(built) == 0 || runtime.GOOS == "windows" {
		return ""
	}
	path, err := filepath.Abs(built[0])
	if err != nil {
		return ""
	}
	return path
}
