package cloudinit_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// machine stands for one on which the scripts run: real sh, awk and grep;
// snap, lxd, lxc, ip, sleep, systemd-run and wipefs are testdata/bin/fake.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T, h cloudinit.Host) machine {
	t.Helper()
	m := machine{t, t.TempDir()}
	for _, folder := range []string{"bin", "state/api", "state/interfaces", "instance/boothooks", "instance/sem", "instance/scripts"} {
		if err := os.MkdirAll(m.path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fake, err := filepath.Abs("testdata/bin/fake")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"snap", "lxd", "lxc", "ip", "sleep", "systemd-run", "wipefs"} {
		m.link(fake, name)
	}
	for _, name := range []string{"sh", "awk", "base64", "cat", "cut", "grep", "mkdir", "sha256sum", "tr"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%v: the scripts need it on the machine, too", err)
		}
		m.link(real, name)
	}
	data := render(t, h)
	m.write("instance/boothooks/maaslxd-lxd.sh", named(t, data, "maaslxd-lxd.sh"))
	m.write("instance/scripts/host.sh", named(t, data, "00-maaslxd-host.sh"))
	return m
}

func (m machine) path(name string) string { return filepath.Join(m.root, name) }

func (m machine) link(program, name string) {
	m.t.Helper()
	if err := os.Symlink(program, m.path("bin/"+name)); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(m.path(name), []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m machine) exists(name string) bool {
	_, err := os.Stat(m.path(name))
	return err == nil
}

func (m machine) remove(name string) {
	m.t.Helper()
	if err := os.Remove(m.path(name)); err != nil {
		m.t.Fatal(err)
	}
}

// applyPreseed does what cloud-init's module would: the things of a host with
// defaults are there.
func (m machine) applyPreseed() {
	m.t.Helper()
	m.write("state/api/storage-pools_default", `{ "driver": "zfs", "name": "default" }`)
	m.write("state/api/projects_maas", `{ "name": "maas" }`)
	m.write("state/api/profiles_default_project_maas", `{ "devices": {}, "name": "default" }`)
	m.write("state/https", "[::]:8443\n")
	m.write("state/interfaces/br0", "")
}

// installed puts an LXD of the channel there, without instances.
func (m machine) installed(channel string) {
	m.t.Helper()
	m.write("state/tracking", channel+"\n")
	m.write("state/api/instances_recursion_1_all-projects_true", "[]\n")
}

// boot runs the boothook, install its unit, finish the last script. They
// return what was said, and whether it succeeded.
func (m machine) boot() (string, bool) { return m.run("instance/boothooks/maaslxd-lxd.sh") }
func (m machine) install() (string, bool) {
	return m.run("instance/boothooks/maaslxd-lxd.sh", "install")
}
func (m machine) finish() (string, bool) { return m.run("instance/scripts/host.sh") }

func (m machine) run(script string, arguments ...string) (string, bool) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), m.path("bin/sh"), append([]string{m.path(script)}, arguments...)...)
	cmd.Env = []string{"PATH=" + m.path("bin"), "STATE=" + m.path("state")}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return out.String(), err == nil
}

// asked counts the commands that began like this since the last changes call.
func (m machine) asked(prefix string) int {
	count := 0
	for line := range strings.Lines(m.read("state/log")) {
		if strings.HasPrefix(line, prefix) {
			count++
		}
	}
	return count
}

// changes are the commands so far that change something, without their
// arguments from the fourth on; the log begins anew.
func (m machine) changes() string {
	m.t.Helper()
	var all []string
	for line := range strings.Lines(m.read("state/log")) {
		words := strings.Fields(line)
		command := strings.Join(words[:min(len(words), 4)], " ")
		switch {
		case strings.HasPrefix(line, "snap list"), strings.HasPrefix(line, "snap wait"), strings.HasPrefix(line, "lxd waitready"),
			strings.HasPrefix(line, "lxc query"), strings.HasPrefix(line, "lxc config get"),
			strings.HasPrefix(line, "ip "), strings.HasPrefix(line, "sleep "), strings.HasPrefix(line, "wipefs --noheadings"):
		case words[0] == "systemd-run":
			all = append(all, words[0])
		default:
			all = append(all, command)
		}
	}
	m.write("state/log", "")
	return strings.Join(all, "; ")
}
