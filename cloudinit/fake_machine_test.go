package cloudinit_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/executable"
	"github.com/maaslxd/maaslxd/cloudinit"
)

// fakeMachine is a machine for the scripts. sh, awk and grep are real; snap, lxd, lxc, ip,
// sleep, systemd-run and wipefs are testdata/bin/fake.
type fakeMachine struct {
	t    *testing.T
	root string
}

func newFakeMachine(t *testing.T, h cloudinit.Host) fakeMachine {
	t.Helper()
	m := fakeMachine{t, t.TempDir()}
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
		m.linkProgram(fake, name)
	}
	for _, name := range []string{"sh", "awk", "base64", "cat", "cut", "grep", "mkdir", "sha256sum", "tr"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%v: the scripts need it on the machine, too", err)
		}
		m.linkProgram(real, name)
	}
	data := renderHost(t, h)
	m.writeFile("instance/boothooks/maaslxd-lxd.sh", partBody(t, data, "maaslxd-lxd.sh"))
	m.writeFile("instance/scripts/host.sh", partBody(t, data, "00-maaslxd-host.sh"))
	return m
}

func (m fakeMachine) path(name string) string { return filepath.Join(m.root, name) }

func (m fakeMachine) linkProgram(program, name string) {
	m.t.Helper()
	if err := os.Symlink(program, m.path("bin/"+name)); err != nil {
		m.t.Fatal(err)
	}
}

func (m fakeMachine) writeFile(name, text string) {
	m.t.Helper()
	if err := executable.WriteProgram(m.path(name), text); err != nil {
		m.t.Fatal(err)
	}
}

func (m fakeMachine) readFile(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m fakeMachine) hasFile(name string) bool {
	_, err := os.Stat(m.path(name))
	return err == nil
}

func (m fakeMachine) removeFile(name string) {
	m.t.Helper()
	if err := os.Remove(m.path(name)); err != nil {
		m.t.Fatal(err)
	}
}

// applyPreseed does the work of cloud-init's module: it makes the objects of a host with
// defaults.
func (m fakeMachine) applyPreseed() {
	m.t.Helper()
	m.writeFile("state/api/storage-pools_default", `{ "driver": "zfs", "name": "default" }`)
	m.writeFile("state/api/projects_maas", `{ "name": "maas" }`)
	m.writeFile("state/api/profiles_default_project_maas", `{ "devices": {}, "name": "default" }`)
	m.writeFile("state/https", "[::]:8443\n")
	m.writeFile("state/interfaces/br0", "")
}

// presetLXD installs an LXD of the channel, without instances.
func (m fakeMachine) presetLXD(channel string) {
	m.t.Helper()
	m.writeFile("state/tracking", channel+"\n")
	m.writeFile("state/api/instances_recursion_1_all-projects_true", "[]\n")
}

// runBoothook runs the boothook, runInstallUnit its unit, runHostScript the last script.
// They return the output, and whether the script succeeded.
func (m fakeMachine) runBoothook() (string, bool) {
	return m.runScript("instance/boothooks/maaslxd-lxd.sh")
}
func (m fakeMachine) runInstallUnit() (string, bool) {
	return m.runScript("instance/boothooks/maaslxd-lxd.sh", "install")
}
func (m fakeMachine) runHostScript() (string, bool) { return m.runScript("instance/scripts/host.sh") }

func (m fakeMachine) runScript(script string, arguments ...string) (string, bool) {
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

// countCommands counts the commands with this beginning since the last takeChanges call.
func (m fakeMachine) countCommands(prefix string) int {
	count := 0
	for line := range strings.Lines(m.readFile("state/log")) {
		if strings.HasPrefix(line, prefix) {
			count++
		}
	}
	return count
}

// takeChanges returns the commands so far that change something, without their arguments
// from the fourth on. Then it clears the log.
func (m fakeMachine) takeChanges() string {
	m.t.Helper()
	var all []string
	for line := range strings.Lines(m.readFile("state/log")) {
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
	m.writeFile("state/log", "")
	return strings.Join(all, "; ")
}
