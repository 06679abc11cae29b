package kubetest

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

//go:embed certmanager.yaml
var certManagerKinds []byte

// provider is an entry of clusterctl's configuration.
type provider struct {
	Name string `json:"name"`
	Type string `json:"type"`
	URL  string `json:"url"`
}

// version is the release in the URL of a file.
func (p provider) version() string { return filepath.Base(filepath.Dir(p.URL)) }

// Clusterctl runs clusterctl on a control plane, without a network.
type Clusterctl struct {
	// Config is the path of its configuration. It has Cluster API's own
	// providers and those given to NewClusterctl.
	Config string
	// Variables are the values of the manifests' variables, beside their
	// defaults.
	Variables map[string]string

	plane      *ControlPlane
	program    string
	home       string
	repository programs.Repository
	providers  []provider // the given ones
}

// NewClusterctl makes a local repository of Cluster API's own providers. Its
// configuration also has the infrastructure providers of the given
// configuration files.
func (c *ControlPlane) NewClusterctl(ctx context.Context, configs ...string) (*Clusterctl, error) {
	bin, err := c.builder.Build(ctx, programs.Clusterctl)
	if err != nil {
		return nil, err
	}
	repository, err := c.builder.WriteRepository(ctx)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(c.Dir, "clusterctl-")
	if err != nil {
		return nil, err
	}
	k := &Clusterctl{
		Config: filepath.Join(home, "clusterctl.yaml"), Variables: map[string]string{},
		plane: c, program: bin.Path(programs.Clusterctl), home: home, repository: repository,
	}
	for _, config := range configs {
		if err := k.readProviders(config); err != nil {
			return nil, err
		}
	}
	return k, k.writeConfig()
}

// readProviders reads the providers of a configuration file.
func (k *Clusterctl) readProviders(config string) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var given struct {
		Providers []provider `json:"providers"`
	}
	if err := yaml.UnmarshalStrict(text, &given); err != nil {
		return fmt.Errorf("%s: %w", config, err)
	}
	k.providers = append(k.providers, given.Providers...)
	return nil
}

// writeConfig writes the configuration.
func (k *Clusterctl) writeConfig() error {
	all := slices.Clone(k.providers)
	for _, c := range programs.Components {
		all = append(all, provider{c.Name, c.Kind, k.repository.File(c)})
	}
	text, err := yaml.Marshal(map[string]any{
		"providers":    all,
		"cert-manager": map[string]any{"externallyProvisioned": true, "timeout": "30s"},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(k.Config, text, 0o600)
}

// Init installs Cluster API's providers and the given ones, as "clusterctl
// init" does. Afterwards the cluster has all objects of the releases and serves
// their kinds. No manager runs.
func (k *Clusterctl) Init(ctx context.Context) error {
	if err := k.InstallCertManagerKinds(ctx); err != nil {
		return err
	}
	version := ":" + k.repository.Version
	args := []string{"init", "--core", "cluster-api" + version, "--bootstrap", "kubeadm" + version, "--control-plane", "kubeadm" + version}
	for _, p := range k.providers {
		args = append(args, "--infrastructure", p.Name+":"+p.version())
	}
	if _, err := k.Run(ctx, args...); err != nil {
		return err
	}
	return k.plane.awaitKinds(ctx)
}

// InstallCertManagerKinds installs the kinds of certificates that manifests
// contain. Nobody issues such certificates.
func (k *Clusterctl) InstallCertManagerKinds(ctx context.Context) error {
	stubs, err := ReadManifests(certManagerKinds)
	if err != nil {
		return err
	}
	_, err = k.plane.InstallCRDs(ctx, stubs...)
	return err
}

// Run runs clusterctl, and returns its standard output. The error quotes its
// standard error. Connections to other machines are refused, so that nothing
// depends on a network.
func (k *Clusterctl) Run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, k.program, append([]string{"--config", k.Config}, args...)...)
	cmd.Dir = k.home
	cmd.Env = k.environment()
	killWithParent(cmd)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("clusterctl %s: %w: %s", args[0], err, bytes.TrimSpace(log.Bytes()))
	}
	k.plane.logf("clusterctl %s took %s", args[0], time.Since(began).Round(10*time.Millisecond))
	return out.Bytes(), nil
}

// environment is the environment of clusterctl.
func (k *Clusterctl) environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + k.home, "XDG_CONFIG_HOME=" + k.home, "KUBECONFIG=" + k.plane.Kubeconfig,
		"CLUSTERCTL_DISABLE_VERSIONCHECK=true", "HTTPS_PROXY=" + unreachableProxy, "HTTP_PROXY=" + unreachableProxy, "GOPROXY=off",
	}
	for name, value := range k.Variables {
		env = append(env, name+"="+value)
	}
	return env
}

// WriteProgram writes a clusterctl into the folder, for shell scripts. It runs
// as Run does, but with the configuration that the script names, and with the
// script's variables.
func (k *Clusterctl) WriteProgram(folder string) error {
	text := "#!/bin/sh\nexec env"
	for _, word := range append(k.environment(), k.program) {
		text += " '" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return os.WriteFile(filepath.Join(folder, programs.Clusterctl), []byte(text+" \"$@\"\n"), 0o700)
}

// unreachableProxy is a proxy that nobody runs. A program on port 1 would need
// root, and none has been seen since the 1990s. Connections to loopback
// addresses do not use it.
const unreachableProxy = "http://127.0.0.1:1"
