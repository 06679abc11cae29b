package e2elxd

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// machine is a container in the place of a MAAS machine.
type machine struct {
	daemon
	name string
}

// installMachine makes the machine with the files that MAAS's installer leaves
// on its disk. The functions of before then change the disk, before the machine
// boots.
func (n network) installMachine(t *testing.T, hostname, mac string, files map[string]string, before ...func(*testing.T, machine)) machine {
	t.Helper()
	d := n.daemon
	m := machine{daemon: d, name: runPrefix + hostname}
	d.lxc(t, "init", "machine", m.name, "--quiet")
	t.Cleanup(func() { m.saveLogs(t); m.deleteContainer() })
	d.lxc(t, "config", "device", "add", m.name, "eth0", "nic", "nictype=bridged", "parent="+n.bridge, "name=eth0", "hwaddr="+mac)
	for path, text := range files {
		m.writeFile(t, path, text, "0600")
	}
	for _, f := range before {
		f(t, m)
	}
	d.lxc(t, "start", m.name)
	return m
}

func (m machine) deleteContainer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, _ = m.run(ctx, nil, "lxc", "delete", "--force", m.name) // everything ends with the run
}

// writeFile puts a file on the machine's disk.
func (m machine) writeFile(t *testing.T, path, text, mode string) {
	t.Helper()
	_, err := m.run(t.Context(), []byte(text), "lxc", "file", "push", "-", m.name+path, "--create-dirs", "--uid=0", "--gid=0", "--mode="+mode)
	if err != nil {
		t.Fatal(err)
	}
}

// removeFile removes a file from the machine's disk.
func (m machine) removeFile(t *testing.T, path string) {
	t.Helper()
	m.lxc(t, "file", "delete", m.name+path)
}

// runScript runs a script on the machine, and returns its output.
func (m machine) runScript(ctx context.Context, script string) (string, error) {
	out, err := m.run(ctx, nil, "lxc", "exec", m.name, "--", "sh", "-c", script)
	return strings.TrimSpace(out), err
}

// mustRunScript runs a script on the machine, which must succeed.
func (m machine) mustRunScript(t *testing.T, script string) string {
	t.Helper()
	out, err := m.runScript(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// waitForCloudInit waits until cloud-init has ended. It returns its status,
// "done" or "error", with the reasons.
func (m machine) waitForCloudInit(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	if _, err := m.runScript(ctx, "until [ -S /run/systemd/private ]; do sleep 0.2; done"); err != nil {
		t.Fatal(err)
	}
	out, err := m.runScript(ctx, "cloud-init status --wait >/dev/null; cat /run/cloud-init/result.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// reboot reboots the machine.
func (m machine) reboot(t *testing.T) {
	t.Helper()
	m.lxc(t, "restart", "--force", m.name)
}

// saveLogs keeps a machine's logs where a failed run is looked into.
func (m machine) saveLogs(t *testing.T) {
	if !t.Failed() && !*keepLogs {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := m.runScript(ctx, "tail -n 60 /var/log/cloud-init-output.log; cat /run/cloud-init/result.json; systemctl --failed --no-legend; ip -br addr")
	if err != nil {
		out += err.Error()
	}
	if t.Failed() {
		t.Logf("the machine %s says:\n%s", m.name, out)
	}
	full, _ := m.runScript(ctx, "cat /var/log/cloud-init.log /var/log/cloud-init-output.log; journalctl -b --no-pager")
	if err := os.WriteFile(inFolder(m.name+".log"), []byte(full), 0o600); err != nil {
		t.Log(err)
	}
}
