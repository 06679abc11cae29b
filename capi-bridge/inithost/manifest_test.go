package inithost

import (
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "gopkg.in/yaml.v2"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/lxd/setup"
)

const example = "../../examples/capi/existing-nodes"

// manifest is as much of the objects as the tests look at.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Template struct {
			Spec struct {
				HostNetwork                  bool `yaml:"hostNetwork"`
				HostPID                      bool `yaml:"hostPID"`
				AutomountServiceAccountToken bool `yaml:"automountServiceAccountToken"`
				Containers                   []container
				Volumes                      []struct {
					Name     string
					HostPath *struct{ Path, Type string } `yaml:"hostPath"`
				}
			}
		}
	}
}

type container struct {
	Image           string
	Args            []string
	Env             []struct{ Name, Value string }
	EnvFrom         []map[string]struct{ Name string } `yaml:"envFrom"`
	SecurityContext struct {
		Privileged               bool
		AllowPrivilegeEscalation bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct{ Add, Drop []string }
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// readManifests reads a file of several, by kind and name.
func readManifests(t *testing.T, path string) map[string]manifest {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]manifest{}
	for decoder := yaml.NewDecoder(file); ; {
		var m manifest
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[m.Kind+" "+m.Metadata.Name] = m
	}
}

// options of the command as it would read them from this environment.
func readOptions(t *testing.T, env map[string]string, args []string) options {
	t.Helper()
	var o options
	p := setting.Program{Name: "capi-bridge init-host", Args: args, Getenv: func(key string) string { return env[key] }, Stdout: io.Discard, Stderr: io.Discard}
	if err := o.settings(p).Read(); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestManifest holds the DaemonSet to what the program reads, and to what its
// README says that it may do.
func TestManifest(t *testing.T) {
	t.Parallel()
	all := readManifests(t, filepath.Join(example, "existing-nodes.yaml"))
	want := []string{"ConfigMap lxd-fleet-certificate", "ConfigMap lxd-initializer", "DaemonSet lxd-initializer", "Namespace capmaas-system"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(all))); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	for name, m := range all {
		if m.Kind != "Namespace" && m.Metadata.Namespace != "capmaas-system" {
			t.Errorf("%s is in the namespace %q", name, m.Metadata.Namespace)
		}
	}
	pod := all["DaemonSet lxd-initializer"].Spec.Template.Spec
	c := pod.Containers[0]
	if len(pod.Containers) != 1 || !slices.Equal(c.Args, []string{"init-host"}) || c.EnvFrom[0]["configMapRef"].Name != "lxd-initializer" {
		t.Errorf("got %+v", pod.Containers)
	}
	given := slices.Collect(maps.Keys(all["ConfigMap lxd-initializer"].Data))
	for _, e := range c.Env {
		given = append(given, e.Name)
	}
	var o options
	known := o.settings(setting.Program{}).ListVariables()
	for _, name := range given {
		if !slices.Contains(known, name) {
			t.Errorf("the manifest sets %s, which the program does not read: %v", name, known)
		}
	}
	s := c.SecurityContext
	if s.Privileged || s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) ||
		len(s.Capabilities.Add) > 0 || pod.HostNetwork || pod.HostPID || pod.AutomountServiceAccountToken {
		t.Errorf("the pod may do more than the README says: %+v", pod)
	}
	paths := 0
	for _, v := range pod.Volumes {
		if v.HostPath == nil {
			continue
		}
		if paths++; v.HostPath.Path != setup.SnapSocket || v.HostPath.Type != "Socket" {
			t.Errorf("the pod has %+v of the node", v.HostPath)
		}
	}
	if paths != 1 {
		t.Errorf("the pod has %d paths of the node", paths)
	}
}

// TestManifestFilledIn runs the README's commands, and reads what the pod would.
func TestManifestFilledIn(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed, whose commands the example's README shows")
	}
	folder := t.TempDir()
	for _, name := range []string{"README.md", "existing-nodes.yaml"} {
		text, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate, err := os.ReadFile("../../cloudinit/testdata/current.crt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "fleet.crt"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README has no shell block")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", string(block[1]))
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := readManifests(t, filepath.Join(folder, "mine.yaml"))
	c := all["DaemonSet lxd-initializer"].Spec.Template.Spec.Containers[0]
	if c.Image != "registry.example.com/capi-bridge:v1" {
		t.Errorf("the image is %s", c.Image)
	}
	env := maps.Clone(all["ConfigMap lxd-initializer"].Data)
	env["TRUSTED_CERTIFICATE"] = all["ConfigMap lxd-fleet-certificate"].Data["fleet.crt"]
	o := readOptions(t, env, nil)
	host, err := o.Host.Build()
	if err != nil {
		t.Fatal(err)
	}
	if got := host.StoragePools["default"]; got.Driver != cloudinit.ZFS || got.SizeGB != 50 || o.interval == 0 {
		t.Errorf("got %+v, every %s", got, o.interval)
	}
	want, err := fleetkey.Fingerprint(string(certificate))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := fleetkey.Fingerprint(host.TrustedCertificates[0]); err != nil || got != want {
		t.Errorf("the certificate is %s, %v", got, err)
	}
}

// TestReadmeNamesSettings: what the example's README names is read.
func TestReadmeNamesSettings(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(example, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var o options
	known := append(o.settings(setting.Program{}).ListVariables(), "MAAS_API_KEY", "MAAS_ENDPOINT", "ZONE", "RESOURCE_POOL")
	for _, name := range regexp.MustCompile("`([A-Z]+_?[A-Z_]*)[:`]").FindAllStringSubmatch(string(readme), -1) {
		if !slices.Contains(known, strings.TrimSpace(name[1])) {
			t.Errorf("the README names %s, which nothing reads", name[1])
		}
	}
}
