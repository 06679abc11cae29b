package release

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// Install makes the CLI at the path install the provider from its archive for
// this machine. The archive is in a filesystem mirror, which takes archives as
// they are.
func (m Dist) Install(ctx context.Context, path string) error {
	a := archiveOf(Build{ID: "provider", Main: projectName}, Target{runtime.GOOS, runtime.GOARCH}, m.Version)
	content, err := os.ReadFile(filepath.Join(m.Folder, a.fileName()))
	if err != nil {
		return fmt.Errorf("cannot install the provider: %w", err)
	}
	mirror, err := os.MkdirTemp("", "mirror")
	if err != nil {
		return err
	}
	defer os.RemoveAll(mirror) //nolint:errcheck // the system removes it, too
	for _, registry := range cli.Registries {
		folder := filepath.Join(mirror, registry, cli.ProviderSource)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, a.fileName()), content, 0o600); err != nil {
			return err
		}
	}
	return cli.InstallFromMirror(ctx, path, mirror, m.Version)
}
