package cloudinit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestShellSyntax checks the syntax of every rendered script with sh.
func TestShellSyntax(t *testing.T) {
	t.Parallel()
	for _, file := range writeScripts(t) {
		runProgram(t, "sh", "-n", file)
	}
}

// TestShellcheck looks for mistakes that a shell accepts.
func TestShellcheck(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("shellcheck is not on PATH (package shellcheck): the scripts were read by sh alone")
	}
	runProgram(t, "shellcheck", append(writeScripts(t), "--shell=sh")...)
}

// writeScripts writes the scripts of every host to files.
func writeScripts(t *testing.T) []string {
	t.Helper()
	var files []string
	folder := t.TempDir()
	for name, h := range goldenHosts(t) {
		if name == "extra" {
			continue // the same as default, and a user's
		}
		for _, p := range splitMultipart(t, renderHost(t, h)) {
			if !strings.HasPrefix(p.Body, "#!") {
				continue
			}
			file := filepath.Join(folder, name+"-"+p.Name)
			if err := os.WriteFile(file, []byte(p.Body), 0o644); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files
}

func runProgram(t *testing.T, program string, arguments ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, arguments...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", program, err, out)
	}
}

// TestMachineFirstBoot turns a machine without LXD into a host. Then it boots it again, and
// once more after "cloud-init clean".
func TestMachineFirstBoot(t *testing.T) {
	t.Parallel()
	h := goldenHosts(t)["rotation"]
	m := newFakeMachine(t, h)
	m.runBoothook()
	if got := m.countCommands("systemd-run --no-block"); got != 1 {
		t.Errorf("the boothook started %d units, want 1\n%s", got, m.readFile("state/log"))
	}
	m.takeChanges()

	m.wantSuccess(m.runInstallUnit())
	m.wantChanges("snap install lxd --channel=5.21/stable")
	m.applyPreseed()
	m.wantSuccess(m.runHostScript())
	m.wantChanges("lxc profile edit default; lxc config trust add; lxc config trust add")
	if diff := cmp.Diff(string(readTestdata(t, "next.crt")), m.readFile("state/added.crt")); diff != "" {
		t.Errorf("LXD was given another certificate (-want +got):\n%s", diff)
	}
	if profile := m.readFile("state/profile.yaml"); !strings.Contains(profile, "pool: default") || !strings.Contains(profile, "parent: br0") {
		t.Errorf("the profile lacks its pool or its bridge:\n%s", profile)
	}

	m.wantSuccess(m.runBoothook())
	m.wantChanges("")

	m.removeFile("instance/sem/maaslxd_lxd") // what cloud-init clean does
	m.wantSuccess(m.runBoothook())
	m.wantChanges("systemd-run")
	m.wantSuccess(m.runInstallUnit())
	m.wantSuccess(m.runHostScript())
	m.wantChanges("")
}

// TestMachineTrust checks the arguments of the command that trusts a certificate.
func TestMachineTrust(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(t, goldenHosts(t)["default"])
	m.presetLXD("5.21/stable")
	m.applyPreseed()
	m.wantSuccess(m.runHostScript())
	log := m.readFile("state/log")
	if !strings.Contains(log, " --restricted --projects maas\n") {
		t.Errorf("the certificate is not restricted to the project:\n%s", log)
	}
}

// TestMachineChannel is about an LXD that is already installed.
func TestMachineChannel(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		tracking  string
		instances string
		want      string
		says      string
	}{
		"Same": {
			reason:   "The channel is right: LXD is left alone.",
			tracking: "5.21/stable", instances: "[]",
		},
		"Other": {
			reason:   "An LXD that the image brought is refreshed.",
			tracking: "5.0/stable/…", instances: "[]",
			want: "snap refresh lxd --channel=5.21/stable", says: "refreshing LXD from 5.0/stable/… to 5.21/stable",
		},
		"Stopped": {
			reason:   "Instances that do not run do not notice.",
			tracking: "5.0/stable", instances: `[ { "name": "v1", "status": "Stopped" } ]`,
			want: "snap refresh lxd --channel=5.21/stable",
		},
		"Running": {
			reason:   "LXD is never restarted below a running instance.",
			tracking: "6/stable", instances: `[ { "name": "v1", "status": "Running" } ]`,
			says: "LXD stays at 6/stable instead of 5.21/stable: it runs instances",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newFakeMachine(t, goldenHosts(t)["default"])
			m.presetLXD(tc.tracking)
			m.writeFile("state/api/instances_recursion_1_all-projects_true", tc.instances)
			out, ok := m.runInstallUnit()
			m.wantSuccess(out, ok)
			if got := m.takeChanges(); got != tc.want {
				t.Errorf("%s\ndid %q, want %q", tc.reason, got, tc.want)
			}
			if !strings.Contains(out, tc.says) {
				t.Errorf("%s\nsaid %q, want %q", tc.reason, out, tc.says)
			}
		})
	}
}

// TestMachineWithoutSnapd: an image whose LXD is not a snap.
func TestMachineWithoutSnapd(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(t, goldenHosts(t)["default"])
	m.removeFile("bin/snap")
	m.presetLXD("none")
	out, ok := m.runInstallUnit()
	m.wantSuccess(out, ok)
	m.wantChanges("")
	if _, err := os.Stat("/snap/bin/lxd"); err == nil {
		t.Log("this machine has LXD in /snap/bin: what happens without LXD and snapd was not run")
		return
	}
	m.removeFile("bin/lxd")
	if out, ok := m.runInstallUnit(); ok || !strings.Contains(out, "neither snapd nor LXD") {
		t.Errorf("without snapd and LXD: succeeded %t, said %q", ok, out)
	}
}

// TestMachineFails: a failure is reported, and the script fails.
func TestMachineFails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		breaks func(fakeMachine)
		run    func(fakeMachine) (string, bool)
		says   string
	}{
		"Store": {
			reason: "The snap store cannot be reached.",
			breaks: func(m fakeMachine) { m.removeFile("state/tracking"); m.writeFile("state/store-is-down", "") },
			run:    fakeMachine.runInstallUnit, says: "cannot install LXD from 5.21/stable",
		},
		"Refresh": {
			reason: "snapd cannot go to the channel.",
			breaks: func(m fakeMachine) { m.presetLXD("6/stable"); m.writeFile("state/store-is-down", "") },
			run:    fakeMachine.runInstallUnit, says: "cannot refresh LXD from 6/stable to 5.21/stable",
		},
		"Pool": {
			reason: "cloud-init can end well with LXD uninitialised.",
			breaks: func(m fakeMachine) { m.removeFile("state/api/storage-pools_default") },
			run:    fakeMachine.runHostScript, says: "there is no storage pool default of the driver zfs: the preseed was not applied",
		},
		"Driver": {
			reason: "LXD had such a pool before, on something else.",
			breaks: func(m fakeMachine) { m.writeFile("state/api/storage-pools_default", `{ "driver": "dir" }`) },
			run:    fakeMachine.runHostScript, says: "there is no storage pool default of the driver zfs",
		},
		"Project": {
			reason: "A preseed is applied as a whole or not at all.",
			breaks: func(m fakeMachine) { m.removeFile("state/api/projects_maas") },
			run:    fakeMachine.runHostScript, says: "there is no project maas",
		},
		"Listening": {
			reason: "Nobody could reach this LXD.",
			breaks: func(m fakeMachine) { m.removeFile("state/https") },
			run:    fakeMachine.runHostScript, says: "LXD does not listen on the network",
		},
		"Bridge": {
			reason: "LXD takes a profile whose bridge does not exist.",
			breaks: func(m fakeMachine) { m.removeFile("state/interfaces/br0") },
			run:    fakeMachine.runHostScript, says: "there is no interface br0 after 120 s: MAAS was to make this bridge",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newFakeMachine(t, goldenHosts(t)["default"])
			m.presetLXD("5.21/stable")
			m.applyPreseed()
			tc.breaks(m)
			out, ok := tc.run(m)
			if ok || !strings.Contains(out, tc.says) {
				t.Errorf("%s\nsucceeded %t, said %q, want %q", tc.reason, ok, out, tc.says)
			}
			if m.hasFile("instance/sem/maaslxd_lxd") {
				t.Errorf("%s\nthe boothook would not try again at the next boot", tc.reason)
			}
		})
	}
}

// TestMachineRetries: the script waits for a store that is down for a while.
func TestMachineRetries(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(t, goldenHosts(t)["default"])
	m.writeFile("state/store-is-down", "")
	m.runInstallUnit()
	if got := m.countCommands("snap install"); got != 5 {
		t.Errorf("tried %d times to install, want 5", got)
	}
	m.removeFile("state/store-is-down")
	m.wantSuccess(m.runInstallUnit())
}

// TestMachineDiskPools: the preseed is applied only once, because LXD forgets the disk on
// which a pool was made.
func TestMachineDiskPools(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(t, goldenHosts(t)["disks"])
	m.presetLXD("5.21/candidate")
	m.writeFile("state/api/storage-pools_fast", `{ "driver": "zfs" }`)
	m.wantSuccess(m.runInstallUnit())
	if m.hasFile("instance/sem/config_lxd") {
		t.Error("one pool of two is there, and cloud-init was told not to apply the preseed")
	}
	m.writeFile("state/api/storage-pools_slow", `{ "driver": "lvm" }`)
	m.wantSuccess(m.runInstallUnit())
	if !m.hasFile("instance/sem/config_lxd") {
		t.Error("both pools are there, and cloud-init was not told so")
	}
}

// TestMachineKeeps: the script does not change what someone has set up differently.
func TestMachineKeeps(t *testing.T) {
	t.Parallel()
	m := newFakeMachine(t, goldenHosts(t)["default"])
	m.presetLXD("5.21/stable")
	m.applyPreseed()
	m.writeFile("state/api/profiles_default_project_maas", `{ "devices": { "root": { "pool": "other" } } }`)
	m.wantSuccess(m.runHostScript())
	m.wantChanges("lxc config trust add")
	for _, file := range []string{"state/added.crt", "state/api/projects_maas"} {
		if !m.hasFile(file) {
			t.Errorf("%s is gone", file)
		}
	}
	m.removeFile("state/api/profiles_default_project_maas")
	m.wantSuccess(m.runHostScript())
	m.wantChanges("lxc profile create default; lxc profile edit default")
}

// TestMachineKinds runs the last script for other kinds of hosts.
func TestMachineKinds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		state  map[string]string
		want   string
	}{
		"macvlan": {
			reason: "The NIC beside which VMs are put is waited for, not a bridge.",
			state:  map[string]string{"interfaces/eno1": ""},
			want:   "lxc profile edit default; lxc config trust add",
		},
		"managed": {
			reason: "LXD must have made its bridge.",
			state:  map[string]string{"interfaces/br0": "", "api/networks_lxdbr0": `{ "managed": true }`},
			want:   "lxc profile edit default; lxc config trust add",
		},
		"project": {
			reason: "A project without profiles of its own has those of the preseed.",
			state:  map[string]string{"interfaces/br0": "", "api/projects_team-a": "{}"},
			want:   "lxc config trust add",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newFakeMachine(t, goldenHosts(t)[name])
			m.presetLXD(cloudinit.DefaultChannel)
			m.applyPreseed()
			m.removeFile("state/interfaces/br0")
			for file, text := range tc.state {
				m.writeFile("state/"+file, text)
			}
			m.wantSuccess(m.runHostScript())
			if got := m.takeChanges(); got != tc.want {
				t.Errorf("%s\ndid %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func (m fakeMachine) wantSuccess(out string, ok bool) {
	m.t.Helper()
	if !ok {
		m.t.Errorf("failed:\n%s", out)
	}
}

func (m fakeMachine) wantChanges(want string) {
	m.t.Helper()
	if got := m.takeChanges(); got != want {
		m.t.Errorf("did %q, want %q", got, want)
	}
}
