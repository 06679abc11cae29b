package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Registries are the hosts below which a CLI looks in a filesystem mirror:
// Terraform's and OpenTofu's.
var Registries = []string{"registry.terraform.io", "registry.opentofu.org"}

// InstallFromMirror makes the Terraform or OpenTofu at the path install our
// provider from a filesystem mirror only, in an empty home, and start it. An
// empty version means the newest release.
func InstallFromMirror(ctx context.Context, path, mirror, version string) error {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home) //nolint:errcheck // the system removes it, too
	config, err := writeMirrorConfig(home, mirror, version)
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-no-color"}, {"providers", "schema", "-json"}} {
		run := exec.CommandContext(ctx, path, args...)
		run.Dir = home
		run.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), configVariable + "=" + config, "CHECKPOINT_DISABLE=1"}
		out, err := run.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %w\n%s", path, strings.Join(args, " "), err, out)
		}
		if args[0] == "providers" && !bytes.Contains(out, []byte("maaslxd_vm_host")) {
			return fmt.Errorf("what %s installed has no maaslxd_vm_host:\n%.500s", path, out)
		}
	}
	return nil
}

// writeMirrorConfig writes a CLI configuration that installs from the mirror
// only, and a module that needs our provider. It returns the configuration's
// path.
func writeMirrorConfig(home, mirror, version string) (string, error) {
	mirror, err := filepath.Abs(mirror)
	if err != nil {
		return "", err
	}
	wanted := fmt.Sprintf("source = %q", ProviderSource)
	if version != "" {
		wanted += fmt.Sprintf(", version = %q", version)
	}
	module := "terraform {\n  required_providers {\n    maaslxd = { " + wanted + " }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(home, "main.tf"), []byte(module), 0o600); err != nil {
		return "", err
	}
	config := filepath.Join(home, "mirror.tfrc")
	return config, os.WriteFile(config, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror), 0o600)
}
