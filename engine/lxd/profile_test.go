package lxd

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// addProfile makes a profile with NICs on the host with this number.
func (w *composeWorld) addProfile(t *testing.T, host int, name string, devices ...string) {
	t.Helper()
	profile := api.ProfilesPost{Name: name, ProfilePut: api.ProfilePut{Devices: map[string]map[string]string{}}}
	for n, device := range devices {
		profile.Devices[device] = map[string]string{
			"type": "nic", "name": device, "nictype": "bridged", "parent": "maasbr0", "hwaddr": fmt.Sprintf("00:16:3e:01:02:%02d", n),
		}
	}
	s, done, err := w.composer.openSession(t.Context(), w.servers[host], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := s.send(http.MethodPost, s.projectPath("profiles"), profile, ""); err != nil {
		t.Fatal(err)
	}
}

// instanceProfiles returns the profiles of an instance in LXD.
func (w *composeWorld) instanceProfiles(t *testing.T, host int, name string) []string {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[host], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var found api.Instance
	if _, err := s.get(s.projectPath("instances", name), &found); err != nil {
		t.Fatal(err)
	}
	return found.Profiles
}

// TestProfile makes a VM with the profile of its spec, on a host that has the profile.
func TestProfile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld)
		host   string // that the VM asks for
		asks   string
		has    []string
	}{
		"Placed":   {"Hosts without it are passed over.", func(t *testing.T, w *composeWorld) { w.addProfile(t, 1, "gold") }, "", "gold", []string{"gold"}},
		"Named":    {"The host that is named has it.", func(t *testing.T, w *composeWorld) { w.addProfile(t, 1, "gold") }, "h2", "gold", []string{"gold"}},
		"Default":  {"LXD's own is there in each project.", func(*testing.T, *composeWorld) {}, "h2", "default", []string{"default"}},
		"Standard": {"A VM without wanted profiles gets MAAS's profile, if the host has it.", func(t *testing.T, w *composeWorld) { w.addProfile(t, 1, "maas") }, "h2", "", []string{"maas"}},
		"None":     {"A VM without wanted profiles gets no other profile.", func(t *testing.T, w *composeWorld) { w.addProfile(t, 1, "gold") }, "h2", "", []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			tc.before(t, w)
			e, want := w.newEngine(t), newSpec()
			want.Host, want.Profile, want.Deploy = tc.host, tc.asks, nil
			vm, err := engine.WaitUntilDone(t.Context(), e.VMs.Steps(web1Ref, want))
			if err != nil || vm.HostName != "h2" {
				t.Fatalf("%s\nit is on %q, %v", tc.reason, vm.HostName, err)
			}
			if diff := cmp.Diff(tc.has, w.instanceProfiles(t, 1, "web1")); diff != "" {
				t.Errorf("%s\nprofiles (-want +got):\n%s", tc.reason, diff)
			}
			ref := web1Ref
			ref.SystemID = vm.SystemID
			seen, err := e.VMs.Observe(t.Context(), ref)
			if diff := cmp.Diff(tc.has, seen.Profiles); diff != "" || err != nil {
				t.Errorf("profiles as they are seen: %v (-want +got):\n%s", err, diff)
			}
			calls := len(w.sim.Journal().Calls)
			if project, err := e.ProjectOf(t.Context(), seen.Machine); project != "maas" || err != nil || len(w.sim.Journal().Calls) != calls {
				t.Errorf("its project is %q, %v, after %d calls", project, err, len(w.sim.Journal().Calls)-calls)
			}
		})
	}
}

// TestProfileAbsent: nothing is made if the profile does not exist.
func TestProfileAbsent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld, *engine.VMSpec)
		kind   string
		says   []string
	}{
		"Named": {
			"The host's project lacks it, although another one has it.",
			func(t *testing.T, w *composeWorld, s *engine.VMSpec) { w.addProfile(t, 1, "gold"); s.Host = "h1" },
			"ProfileNotFound", []string{"h1", `"maas"`, `"gold"`, "It has: default.", "lxc profile create gold --project maas"},
		},
		"Nowhere": {
			"No host has it.",
			func(t *testing.T, w *composeWorld, _ *engine.VMSpec) { w.addProfile(t, 0, "silver") },
			"ProfileNotFound", []string{`"gold"`, `host h1, project "maas": default, silver`, `host h2, project "maas": default`},
		},
		"ElsewhereOnly": {
			"The host that has it is not one that will do.",
			func(t *testing.T, w *composeWorld, s *engine.VMSpec) { w.addProfile(t, 1, "gold"); s.Cores = 99 },
			"InsufficientResources", []string{"1 no such profile", "1 too small", `it does not have the profile "gold" (it has "default")`},
		},
		"Unreached": {
			"A host that does not answer may have it.",
			func(t *testing.T, w *composeWorld, _ *engine.VMSpec) {
				if err := w.sim.SetLXDCondition("h2", sim.ConditionUnreachable); err != nil {
					t.Fatal(err)
				}
			},
			"InsufficientResources", []string{"1 no such profile", "1 never reached"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			want := newSpec()
			want.Profile = "gold"
			tc.before(t, w, &want)
			e := w.newEngine(t)
			_, err := e.VMs.Reconcile(t.Context(), web1Ref, want)
			if errorKinds(err) != tc.kind || engine.IsTerminal(err) == (name == "Unreached") {
				t.Errorf("%s\ngot %s: %v", tc.reason, errorKinds(err), err)
			}
			for _, word := range tc.says {
				if !strings.Contains(shownText(err), word) {
					t.Errorf("%s\nwant %s in: %s", tc.reason, word, shownText(err))
				}
			}
			if diff := cmp.Diff([]string(nil), w.listObjects()); diff != "" {
				t.Errorf("made all the same (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProfileComes: a profile that was just made is found.
func TestProfileComes(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "h1"} {
		w := newWorld(t, 1)
		e, want := w.newEngine(t), newSpec()
		want.Host, want.Profile, want.Deploy = host, "gold", nil
		if _, err := e.VMs.Reconcile(t.Context(), web1Ref, want); errorKinds(err) != "ProfileNotFound" {
			t.Fatalf("before there is one: %v", err)
		}
		w.addProfile(t, 0, "gold")
		time.Sleep(rereadAfter + 100*time.Millisecond) // what is younger is not read again
		if _, err := engine.WaitUntilDone(t.Context(), e.VMs.Steps(web1Ref, want)); err != nil {
			t.Errorf("on host %q: %v", host, err)
		}
	}
}

// TestProfileBringsNICs: an existing instance may have NICs from its profile, before and
// after its own. MAAS gets only its own NICs, and only these get new MACs.
func TestProfileBringsNICs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.addProfile(t, 0, engine.StandardProfile, "eth1", "a0")
	id := w.composeVM(w.composer, newComposition("web1"))
	if err := w.sim.DeleteMachine(id); err != nil {
		t.Fatal(err)
	}
	_, macs := w.enlistOthersWithMACs(t, newComposition("web1"), 1)
	id, err := w.newComposer().Compose(t.Context(), engine.VMHost{MachineID: "host01"}, newComposition("web1"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.maas.Machines.Machine(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(macs[1:2], machineMACs(m)); diff != "" {
		t.Errorf("MACs in MAAS (-want +got):\n%s", diff)
	}
}
