package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Component is one of Cluster API's providers, as a release ships it.
type Component struct {
	Program   string // the manager's program
	Kind      string // in clusterctl's configuration
	Name      string // in clusterctl's configuration
	Release   string // folder of a local repository
	Manifests string // file name
	Manager   string // name of the Deployment
	Namespace string // of the Deployment
	source    string // kustomization in the module
}

// Components are the core, bootstrap and control plane provider.
var Components = []Component{
	{CoreManager, "CoreProvider", "cluster-api", "cluster-api", "core-components.yaml", "capi-controller-manager", "capi-system", "core/config/default"},
	{BootstrapManager, "BootstrapProvider", "kubeadm", "bootstrap-kubeadm", "bootstrap-components.yaml", "capi-kubeadm-bootstrap-controller-manager", "capi-kubeadm-bootstrap-system", "bootstrap/kubeadm/config/default"},
	{ControlPlaneManager, "ControlPlaneProvider", "kubeadm", "control-plane-kubeadm", "control-plane-components.yaml", "capi-kubeadm-control-plane-controller-manager", "capi-kubeadm-control-plane-system", "controlplane/kubeadm/config/default"},
}

// Repository is a local clusterctl repository of Cluster API's own providers.
// It has folders <release>/<version>/ with manifests and metadata.
type Repository struct {
	Dir     string // absolute
	Version string // v1.14.2
}

// File is the path of a component's manifests.
func (r Repository) File(c Component) string {
	return filepath.Join(r.Dir, c.Release, r.Version, c.Manifests)
}

// WriteRepository writes the manifests of the module from which the managers
// are built, unless they exist. kustomize adds contract labels and webhooks to
// the bare definitions.
func (b *Builder) WriteRepository(ctx context.Context) (Repository, error) {
	folder, err := b.programsFolder()
	if err != nil {
		return Repository{}, err
	}
	version, err := b.runGo(ctx, "list", "-m", "-f", "{{.Version}}", capiModule)
	if err != nil {
		return Repository{}, err
	}
	bin, err := b.Build(ctx, Kustomize)
	if err != nil {
		return Repository{}, err
	}
	r := Repository{Dir: filepath.Join(folder, "repository"), Version: version}
	err = createOnce(ctx, r.Dir, func(target string) error {
		return b.writeComponents(ctx, bin.Path(Kustomize), Repository{Dir: target, Version: version})
	})
	if err != nil {
		return Repository{}, fmt.Errorf("cannot write Cluster API's manifests: %w", err)
	}
	return r, nil
}

// writeComponents writes every component and its metadata.
func (b *Builder) writeComponents(ctx context.Context, kustomize string, r Repository) error {
	began := time.Now()
	source, err := b.moduleDir(ctx, capiModule)
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile(filepath.Join(source, "metadata.yaml"))
	if err != nil {
		return err
	}
	for _, c := range Components {
		if err := os.MkdirAll(filepath.Dir(r.File(c)), 0o755); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, kustomize, "build", "-o", r.File(c), filepath.Join(source, c.source))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kustomize build %s: %w: %s", c.source, err, out)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(r.File(c)), "metadata.yaml"), metadata, 0o644); err != nil {
			return err
		}
	}
	b.logf("wrote the manifests of Cluster API %s in %s", r.Version, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// moduleDir is the folder of a module's sources. It downloads them where they
// are missing.
func (b *Builder) moduleDir(ctx context.Context, module string) (string, error) {
	dir, err := b.runGo(ctx, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil || dir != "" {
		return dir, err
	}
	if _, err := b.runGo(ctx, "mod", "download", module); err != nil {
		return "", err
	}
	return b.runGo(ctx, "list", "-m", "-f", "{{.Dir}}", module)
}
