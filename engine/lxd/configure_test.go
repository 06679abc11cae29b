package lxd

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// optionsAndDevices returns the options and devices of the first instance in LXD. It omits
// the program's own options, disks and NICs.
func (w *composeWorld) optionsAndDevices(t *testing.T, name string) (config, devices map[string]string) {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var found api.Instance
	if _, err := s.get(s.projectPath("instances", name), &found); err != nil {
		t.Fatal(err)
	}
	config, devices = engine.OptionsOf(found.Config), map[string]string{}
	for name, d := range engine.DevicesOf(found.Devices) {
		devices[name] = d.Type
	}
	return config, devices
}

// TestConfigure makes a VM with options and devices, and changes them later.
func TestConfigure(t *testing.T) {
	t.Parallel()
	type options = map[string]string
	tpm, usb := engine.Device{Type: "tpm"}, engine.Device{Type: "usb", Properties: options{"vendorid": "1d6b"}}
	fails := func(status int) *sim.Fault {
		return &sim.Fault{Method: "PUT", Path: "lxd/h1/1.0/instances/*", Kind: sim.FaultStatus, Status: status, Body: "GPU devices are forbidden"}
	}
	stops := func(s *engine.VMSpec) { s.Config, s.MayStop = options{"limits.disk.priority": "3"}, true }
	as := options{"user.team": "a", "security.secureboot": "false"}
	lost := sim.Fault{Method: "PUT", Path: "lxd/h1/1.0/instances/*", Kind: sim.FaultLostReply, Times: 1}
	cases := map[string]struct {
		reason  string
		change  func(*engine.VMSpec)
		fault   *sim.Fault
		config  options
		devices options
		refused string // the words of an error
	}{
		"Live": {
			reason: "What LXD changes while a VM runs does not stop it.",
			change: func(s *engine.VMSpec) {
				s.Config = options{"user.team": "shop"}
				s.Devices = map[string]engine.Device{"tpm0": tpm, "key": usb}
			},
			config: options{"user.team": "shop", "security.secureboot": "false"}, devices: options{"tpm0": "tpm", "key": "usb"},
		},
		"Removed": {
			reason: "What is wanted no longer goes, and a VM boots again as it was made.",
			change: func(s *engine.VMSpec) {
				s.Config, s.Devices, s.MayStop = nil, nil, true
				s.RemovedConfig, s.RemovedDevices = []string{"user.team", "security.secureboot"}, []string{"tpm0", "never"}
			},
			config: options{"security.secureboot": "false"}, devices: options{},
		},
		"Stops": {
			reason: "A device that cannot be plugged in stops the VM, which runs again then.",
			change: func(s *engine.VMSpec) {
				s.Devices, s.MayStop = map[string]engine.Device{"tpm0": tpm, "tpm1": tpm}, true
			},
			config: options{"user.team": "a", "security.secureboot": "false"}, devices: options{"tpm0": "tpm", "tpm1": "tpm"},
		},
		"Runs": {
			reason: "Without leave the VM stays as it is.",
			change: func(s *engine.VMSpec) { s.Config = options{"user.team": "shop", "security.secureboot": "true"} },
			config: options{"user.team": "a", "security.secureboot": "false"}, devices: options{"tpm0": "tpm"},
			refused: "must be stopped to change security.secureboot",
		},
		"ForeignDevice": {
			reason: "A disk that somebody attached is not replaced.",
			change: func(s *engine.VMSpec) { s.Devices, s.MayStop = map[string]engine.Device{"scratch": tpm}, true },
			config: options{"user.team": "a", "security.secureboot": "false"}, devices: options{"tpm0": "tpm"},
			refused: "has a device scratch already, of the type none",
		},
		"OtherOption": {
			reason: "This LXD is older than the option.", change: func(s *engine.VMSpec) { s.Config, s.MayStop = options{"boot.mode": "bios"}, true },
			config: options{"user.team": "a", "security.secureboot": "false"}, devices: options{"tpm0": "tpm"}, refused: `"security.secureboot" instead`,
		},
		"Refused": {
			reason: "LXD refuses the request, and the VM is on again.", fault: fails(http.StatusBadRequest), change: stops,
			config: as, devices: options{"tpm0": "tpm"}, refused: "refuses the change: GPU devices are forbidden",
		},
		"Restricted": {
			reason: "LXD says 500 to what its project forbids, and the VM is on again.", fault: fails(http.StatusInternalServerError), change: stops,
			config: as, devices: options{"tpm0": "tpm"}, refused: "refuses the change: GPU devices are forbidden",
		},
		"Forbidden": {
			reason: "LXD shows the VM and lets nobody change it, and the VM is on again.", fault: fails(http.StatusForbidden), change: stops,
			config: as, devices: options{"tpm0": "tpm"}, refused: "refuses the change: GPU devices are forbidden",
		},
		"FailedOperation": {
			reason: "LXD checks in the background, and the VM is on again.", change: func(s *engine.VMSpec) { s.Config, s.MayStop = options{"limits.cpu.pin_strategy": "auto"}, true },
			config: as, devices: options{"tpm0": "tpm"}, refused: "refuses the change: Invalid config: Unknown configuration key: limits.cpu.pin_strategy",
		},
		"DoesNotStart": {
			reason: "LXD takes it, and cannot start the VM, which is on again as it was.",
			change: func(s *engine.VMSpec) {
				s.Config, s.Devices, s.MayStop = options{"security.sev": "true"}, map[string]engine.Device{"tpm1": tpm}, true
			},
			config: as, devices: options{"tpm0": "tpm"}, refused: "does not start after it was changed. Its former options and devices are restored",
		},
		"Lost": {
			reason: "What was done is not done twice.", fault: &lost, change: func(s *engine.VMSpec) { s.Config = options{"user.team": "shop"} },
			config: options{"user.team": "shop", "security.secureboot": "false"}, devices: options{"tpm0": "tpm"},
		},
		"Left": {
			reason: "Without Reconfigure nothing is changed.", change: func(s *engine.VMSpec) { s.Config, s.Reconfigure = options{"user.team": "shop"}, false },
			config: options{"user.team": "a", "security.secureboot": "false"}, devices: options{"tpm0": "tpm"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			ref, want := w.createRunningVM(t, func(s *engine.VMSpec) {
				s.Config, s.Devices, s.Resize = options{"user.team": "a"}, map[string]engine.Device{"tpm0": tpm}, false
			})
			if name == "ForeignDevice" {
				w.editInstance(t, "web1", func(i *api.InstancePut) { i.Devices["scratch"] = options{"type": "none"} })
			}
			want.Reconfigure = true
			tc.change(&want)
			if tc.fault != nil {
				w.sim.AddFault(*tc.fault)
			}
			began := time.Now()
			hurried := func(c *engine.Config) { c.Now = func() time.Time { return began.Add(60 * time.Since(began)) } }
			_, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, ledger.NewMemory(nil), hurried).VMs.Steps(ref, want))
			if (err == nil) != (tc.refused == "") || err != nil && !strings.Contains(shownText(err), tc.refused) {
				t.Errorf("%s\nwant %q, got %v", tc.reason, tc.refused, err)
			}
			config, devices := w.optionsAndDevices(t, "web1")
			if diff := cmp.Diff(tc.config, config) + cmp.Diff(tc.devices, devices); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			w.awaitRunning(t, tc.reason)
			seen, err := w.newEngine(t).VMs.Observe(t.Context(), ref)
			if diff := cmp.Diff(tc.config, seen.Config); diff != "" || err != nil {
				t.Errorf("options as they are seen: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// awaitRunning waits until the only VM is on. MAAS starts it in the background.
func (w *composeWorld) awaitRunning(t *testing.T, reason string) {
	t.Helper()
	i, _ := w.onlyInstance(t)
	for deadline := time.Now().Add(10 * time.Second); !i.Running && time.Now().Before(deadline); i, _ = w.onlyInstance(t) {
		time.Sleep(20 * time.Millisecond)
	}
	if !i.Running {
		t.Errorf("%s\nthe VM is off", reason)
	}
}

// TestConfigureGivenUp ends the wait while a VM is off for a change: the VM is turned on.
func TestConfigureGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	ref, want := w.createRunningVM(t, func(s *engine.VMSpec) { s.Resize, s.Locked = false, new(true) })
	want.Reconfigure, want.MayStop, want.Config = true, true, map[string]string{"limits.disk.priority": "3"}
	w.sim.AddFault(sim.Fault{Method: "PUT", Path: "lxd/h1/1.0/instances/*", Kind: sim.FaultStatus, Status: http.StatusServiceUnavailable})
	ctx, cancel := context.WithCancel(t.Context())
	steps := w.newEngine(t).VMs.Steps(ref, want)
	_, err := engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.VM], error) {
		res, err := steps(ctx)
		if i, _ := w.onlyInstance(t); !i.Running && err != nil {
			cancel()
		}
		return res, err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	w.awaitRunning(t, "The caller gave up.")
	if _, m := w.onlyInstance(t); !m.Locked {
		t.Error("it is not locked again")
	}
}

// editInstance changes an instance, as an administrator of its LXD does.
func (w *composeWorld) editInstance(t *testing.T, name string, change func(*api.InstancePut)) {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var found api.Instance
	etag, err := s.get(s.projectPath("instances", name), &found)
	if err != nil {
		t.Fatal(err)
	}
	put := found.Writable()
	put.Devices = maps.Clone(put.Devices)
	change(&put)
	if err := s.send(http.MethodPut, s.projectPath("instances", name), put, etag); err != nil {
		t.Fatal(err)
	}
}

// TestBootMode: from LXD 6.7 on, another option controls how a VM boots. The option that
// this LXD lacks is never sent.
func TestBootMode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, version, key, value string
		refused                     bool
	}{
		"Old":      {"It has security.secureboot.", "5.21.3", "security.secureboot", "true", false},
		"New":      {"It has boot.mode.", "6.7", "boot.mode", "uefi-secureboot", false},
		"OldLacks": {"It does not have boot.mode yet.", "5.21.3", "boot.mode", "uefi-secureboot", true},
		"NewLacks": {"It does not have security.secureboot any more.", "6.7", "security.secureboot", "true", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1, func(m *sim.Model) { m.Hosts[0].LXDVersion = tc.version })
			comp := newComposition("web1")
			comp.Config = map[string]string{tc.key: tc.value}
			_, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: w.servers[0].MachineID}, comp)
			var bad *engine.SpecError
			if tc.refused {
				if !errors.As(err, &bad) || !bad.Field.Equal(fieldpath.New("config").Key(tc.key)) || len(w.listObjects()) > 0 {
					t.Errorf("%s\ngot %v, made %v", tc.reason, err, w.listObjects())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if config, _ := w.optionsAndDevices(t, "web1"); !maps.Equal(config, comp.Config) {
				t.Errorf("%s\nit has %v", tc.reason, config)
			}
		})
	}
}

// TestConfigureBegun changes the spec of a VM that an earlier run has begun to make.
func TestConfigureBegun(t *testing.T) {
	t.Parallel()
	tpm := engine.Device{Type: "tpm"}
	cases := map[string]struct {
		reason string
		change func(*engine.Ref, *engine.VMSpec)
		kind   string
	}{
		"Option": {"It cannot be told from a VM of another wish.", func(_ *engine.Ref, s *engine.VMSpec) { s.Config = map[string]string{"user.team": "b"} }, `ErrConflict, SpecError config["user.team"]`},
		"Device": {"Nor can it by devices.", func(_ *engine.Ref, s *engine.VMSpec) { s.Devices = map[string]engine.Device{"tpm1": tpm} }, "ErrConflict, SpecError devices.tpm1"},
		"Update": {"A caller that knows the system id of its VM changes it.", func(r *engine.Ref, s *engine.VMSpec) {
			s.Config, s.Devices, s.RemovedDevices, s.Reconfigure = map[string]string{"user.team": "b"}, map[string]engine.Device{"tpm1": tpm}, []string{"tpm0"}, true
		}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			ref, want := web1Ref, newSpec()
			want.Host, want.Config, want.Devices = "h1", map[string]string{"user.team": "a"}, map[string]engine.Device{"tpm0": tpm}
			if res, err := w.newEngine(t).VMs.Reconcile(t.Context(), ref, want); err != nil || res.Done {
				t.Fatalf("%+v, %v", res, err)
			}
			tc.change(&ref, &want)
			if want.Reconfigure {
				_, m := w.onlyInstance(t)
				ref.SystemID = m.SystemID
			}
			if _, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, want)); errorKinds(err) != tc.kind {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
			if tc.kind != "" {
				return
			}
			config, devices := w.optionsAndDevices(t, "web1")
			if config["user.team"] != "b" || !maps.Equal(devices, map[string]string{"tpm1": "tpm"}) {
				t.Errorf("%s\nit has %v and %v", tc.reason, config, devices)
			}
		})
	}
}

// TestMixedVersions places a VM by the options that its host must support.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, second string
		cores          int
		host, kind     string
		says           string
	}{
		"Other":   {"The host of an older LXD will do.", "5.21.3", 2, "h2", "", ""},
		"NoRoom":  {"It is too small, and the larger one lacks the option.", "5.21.3", 5, "", "InsufficientResources", `does not have "security.secureboot"`},
		"Nowhere": {"No host has the option, so that it is to be written otherwise.", "6.7", 2, "", `ErrInvalid, SpecError config["security.secureboot"]`, "boot.mode"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2, func(m *sim.Model) {
				m.Hosts[0].LXDVersion, m.Hosts[1].LXDVersion, m.Hosts[1].Cores = "6.7", tc.second, 4
			})
			want := newSpec()
			want.Deploy, want.Cores, want.Config = nil, tc.cores, map[string]string{"security.secureboot": "true"}
			vm, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(web1Ref, want))
			if vm.HostName != tc.host || errorKinds(err) != tc.kind || err != nil && !strings.Contains(shownText(err), tc.says) {
				t.Errorf("%s\nit is on %q, %v", tc.reason, vm.HostName, err)
			}
		})
	}
}

// TestProfileDevice: a device never replaces one from a profile.
func TestProfileDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.addProfile(t, 0, "maas", "storage")
	const kind = "SpecError devices.storage"
	want := newSpec()
	want.Host, want.Deploy, want.Devices = "h1", nil, map[string]engine.Device{"storage": {Type: "usb", Properties: map[string]string{"vendorid": "1d6b"}}}
	if _, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(web1Ref, want)); errorKinds(err) != "ErrInvalid, "+kind+", VMCreationFailed" || len(w.listObjects()) > 0 {
		t.Errorf("a VM that is made: %v, made %v", err, w.listObjects())
	}
	made := want
	made.Devices = nil
	ref := web1Ref
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, made))
	if err != nil {
		t.Fatal(err)
	}
	ref.SystemID, ref.Finished, want.Reconfigure = vm.SystemID, true, true
	if _, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, want)); errorKinds(err) != "ErrConflict, "+kind {
		t.Errorf("a VM that is there: %v", err)
	}
}
