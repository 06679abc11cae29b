package lxd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// newRealWorld returns a simulated MAAS without VM hosts, with a real LXD. Its key may see
// only the project "maas".
func newRealWorld(t *testing.T) (*composeWorld, *realServer) {
	t.Helper()
	l := useRealLXD(t)
	w := newWorld(t, 0)
	key := makeKey(t)
	l.trustKey(t, key, "maas")
	w.pair = key.Credentials
	w.servers = []Server{{
		MachineID: "real01", Name: "real", Zone: "az1", Pool: "default", DefaultStoragePool: "local",
		Endpoint: engine.Endpoint{Address: l.address, Project: "maas"},
		Bridges:  []Bridge{{Name: l.bridge, Subnets: []engine.Subnet{{CIDR: fleetSubnet, DHCP: true}}}},
	}}
	return w, l
}

// query asks the real LXD as its administrator.
func query[T any](t *testing.T, l *realServer, path string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(l.lxc(t, "query", path)), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// listLeft lists the instances and volumes of the project.
func (l *realServer) listLeft(t *testing.T) []string {
	t.Helper()
	names := query[[]string](t, l, "/1.0/instances?project=maas")
	for _, pool := range []string{"local", "fast"} {
		names = append(names, query[[]string](t, l, "/1.0/storage-pools/"+pool+"/volumes/custom?project=maas")...)
	}
	for n, u := range names {
		names[n] = nameInURL(u)
	}
	return names
}

// onlyHost returns the only host of a Composer, with its used capacity and its pools.
func (w *composeWorld) onlyHost(t *testing.T, c *Composer) engine.VMHost {
	t.Helper()
	hosts, err := c.Hosts(t.Context())
	if err != nil || len(hosts) != 1 || hosts[0].Version == "" {
		t.Fatalf("%+v, %v", hosts, err)
	}
	return hosts[0]
}

// TestRealVM makes a VM with a volume, makes it again, grows it, and removes it.
func TestRealVM(t *testing.T) {
	w, l := newRealWorld(t)
	ctx := t.Context()
	before := w.onlyHost(t, w.composer)
	comp := newComposition("real1")
	comp.PinnedCores, comp.HugePages = []int{1}, true
	id := w.composeVM(w.composer, comp)
	made := query[api.Instance](t, l, "/1.0/instances/real1?project=maas")
	mac := made.Devices["eth0"]["hwaddr"]
	if !strings.HasPrefix(mac, "00:16:3e:") {
		t.Errorf("its MAC is %q", mac)
	}
	for name := range made.Config {
		if strings.HasPrefix(name, "volatile.") {
			delete(made.Config, name)
		}
	}
	want := api.InstancePut{
		Architecture: "x86_64", Profiles: []string{},
		Config: map[string]string{
			"limits.cpu": "1-1", "limits.memory": "2048MiB", "limits.memory.hugepages": "true", "security.secureboot": "false",
			keyConfig: "test/real1", markerConfig: "maaslxd-real1",
		},
		Devices: map[string]map[string]string{
			"root":  {"type": "disk", "path": "/", "pool": "local", "size": "8000000000", "boot.priority": "0"},
			"disk1": {"type": "disk", "pool": "fast", "source": "real1-disk1"},
			"eth0":  {"type": "nic", "name": "eth0", "network": l.bridge, "boot.priority": "1", "hwaddr": mac},
		},
	}
	if diff := cmp.Diff(want, made.Writable()); diff != "" {
		t.Errorf("the instance (-want +got):\n%s", diff)
	}
	after := w.onlyHost(t, w.composer)
	if cores, memory := after.Cores.Used-before.Cores.Used, after.MemoryMiB.Used-before.MemoryMiB.Used; cores != 1 || memory != 2048 {
		t.Errorf("it takes %d cores and %d MiB", cores, memory)
	}
	if again := w.composeVM(w.newComposer(), comp); again != id {
		t.Errorf("once more is %s, and was %s", again, id)
	}
	comp.PinnedCores, comp.Cores, comp.MemoryMiB, comp.HugePages = nil, 3, 4096, false
	comp.Disks[0].SizeGB, comp.Disks[1].SizeGB = 9, 7
	for range 2 { // the second one changes nothing
		if err := w.composer.Resize(ctx, after, id, comp); err != nil {
			t.Fatal(err)
		}
	}
	grown := query[api.Instance](t, l, "/1.0/instances/real1?project=maas")
	volume := query[api.StorageVolume](t, l, "/1.0/storage-pools/fast/volumes/custom/real1-disk1?project=maas")
	got := []string{grown.Config["limits.cpu"], grown.Config["limits.memory"], grown.Config["limits.memory.hugepages"], grown.Devices["root"]["size"], volume.Config["size"], volume.Config[markerConfig]}
	if diff := cmp.Diff([]string{"3", "4096MiB", "true", "9000000000", "7000000000", "maaslxd-real1"}, got); diff != "" {
		t.Errorf("resized (-want +got):\n%s", diff)
	}
	comp.Disks[1].SizeGB = 1
	if err := w.composer.Resize(ctx, after, id, comp); errorKinds(err) != "ErrInvalid, SpecError disks.data.size_gb" {
		t.Errorf("a disk that shrinks: %v", err)
	}
	if err := w.newComposer().Decompose(ctx, id); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{}, l.listLeft(t)); diff != "" || len(w.listObjects()) != 0 {
		t.Errorf("left in MAAS %v, in LXD (-want +got):\n%s", w.listObjects(), diff)
	}
}

// TestRealRefusals checks what cannot be made on a real LXD: each case has one clear error
// and leaves nothing.
func TestRealRefusals(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(t *testing.T, w *composeWorld, l *realServer, comp *engine.Composition)
		want   string
		says   string
	}{
		"Untrusted": {"The key is not the host's.", func(t *testing.T, w *composeWorld, _ *realServer, _ *engine.Composition) {
			w.pair = makeKey(t).Credentials
		}, "ErrForbidden, HostUnavailable", "does not trust"},
		"OtherProject": {"The certificate is for another project.", func(_ *testing.T, w *composeWorld, _ *realServer, _ *engine.Composition) {
			w.servers[0].Project = "other"
		}, "ProjectNotFound", "no project \"other\""},
		"NoProject": {"There is none of that name.", func(_ *testing.T, w *composeWorld, _ *realServer, _ *engine.Composition) {
			w.servers[0].Project = "ghost"
		}, "ProjectNotFound", "no project \"ghost\""},
		"OtherServer": {"Another certificate was pinned.", func(_ *testing.T, w *composeWorld, _ *realServer, _ *engine.Composition) {
			w.servers[0].Fingerprint = strings.Repeat("0", 64)
		}, "ErrOtherServer, HostUnavailable", "is known by 0000"},
		"NobodyThere": {"Nothing listens.", func(t *testing.T, w *composeWorld, _ *realServer, _ *engine.Composition) {
			address, err := freeport.Address()
			if err != nil {
				t.Fatal(err)
			}
			w.servers[0].Address = address
		}, "ErrUnavailable, HostUnavailable", "nothing listens"},
		"NoPool": {"A pool that LXD does not have.", func(_ *testing.T, _ *composeWorld, _ *realServer, comp *engine.Composition) {
			comp.Disks[1].Pool = "slow"
		}, "SpecError disks.data.pool", "no storage pool \"slow\""},
		"NoBridge": {"LXD would accept a bridge that is not there.", func(_ *testing.T, w *composeWorld, _ *realServer, comp *engine.Composition) {
			w.servers[0].Bridges[0].Name, comp.Interfaces[0].Label = "br77", "eth0"
		}, "SpecError interfaces.eth0.subnet", "no bridge into subnet"},
		"NoProfile": {"A profile that the project does not have.", func(_ *testing.T, _ *composeWorld, _ *realServer, comp *engine.Composition) {
			comp.Profile = "gold"
		}, "ProfileNotFound", "no profile \"gold\""},
		"LongName": {"LXD names an instance with 63 bytes at most.", func(_ *testing.T, _ *composeWorld, _ *realServer, comp *engine.Composition) {
			comp.Hostname = strings.Repeat("a", 64)
		}, "ErrInvalid, SpecError name", "64 bytes"},
		"Architecture": {"LXD runs its own architectures only.", func(_ *testing.T, _ *composeWorld, _ *realServer, comp *engine.Composition) {
			comp.Architecture = "arm64/generic"
		}, "VMCreationFailed", "arm64"},
		"Stranger": {"An instance of that name is somebody else's.", func(t *testing.T, _ *composeWorld, l *realServer, comp *engine.Composition) {
			l.addForeignInstance(t, comp.Hostname)
		}, "ErrConflict", "has an instance refused already, without a mark"},
		"StrangersVolume": {"So is a volume.", func(t *testing.T, _ *composeWorld, l *realServer, comp *engine.Composition) {
			l.lxc(t, "storage", "volume", "create", "fast", "refused-disk1", "--type=block", "size=1GiB", "--project", "maas")
			t.Cleanup(func() { l.lxc(t, "storage", "volume", "delete", "fast", "refused-disk1", "--project", "maas") })
		}, "ErrConflict", "not made for this VM"},
		"HostnameTaken": {"MAAS has a machine of that name: the newborn goes again.", func(t *testing.T, w *composeWorld, _ *realServer, comp *engine.Composition) {
			other := newComposition("refused")
			other.Marker, other.Hostname = "maaslxd-other", "elsewhere"
			if _, err := w.maas.Enlister.Enlist(t.Context(), enlistmentOf(w, other, "00:16:3e:00:00:09", "refused")); err != nil {
				t.Fatal(err)
			}
		}, "ErrInvalid", "already exists"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, l := newRealWorld(t)
			w.t = t
			comp := newComposition("refused")
			tc.change(t, w, l, &comp)
			before := l.listLeft(t)
			_, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "real01"}, comp)
			if errorKinds(err) != tc.want || !strings.Contains(shownText(err), tc.says) {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, errorKinds(err), err, tc.want)
			}
			checkNoSecret(t, shownText(err), fleetkey.Key{Credentials: w.pair})
			if diff := cmp.Diff(before, l.listLeft(t)); diff != "" {
				t.Errorf("%s: left in LXD (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// addForeignInstance makes an instance of another owner.
func (l *realServer) addForeignInstance(t *testing.T, name string) {
	t.Helper()
	l.lxc(t, "init", name, "--empty", "--vm", "--project", "maas", "-s", "local")
	t.Cleanup(func() { l.lxc(t, "delete", name, "--project", "maas") })
}

// enlistmentOf returns the enlistment of a machine that was made by hand.
func enlistmentOf(w *composeWorld, comp engine.Composition, mac, hostname string) engine.Enlistment {
	return engine.Enlistment{
		Hostname: hostname, Architecture: comp.Architecture, MACs: []string{mac}, Credentials: w.pair,
		Instance: engine.Instance{Endpoint: engine.Endpoint{Address: w.servers[0].Address, Project: w.servers[0].Project}, Name: comp.Hostname},
	}
}

// TestRealDecompose removes VMs of which a part is gone, and nothing of other owners.
func TestRealDecompose(t *testing.T) {
	cases := map[string]struct {
		reason string
		before func(t *testing.T, w *composeWorld, l *realServer, id string)
		want   string
		left   []string // in LXD
		maas   []string
	}{
		"InstanceGone": {"What is left of it goes, too.", func(t *testing.T, _ *composeWorld, l *realServer, _ string) {
			l.lxc(t, "delete", "part", "--project", "maas")
		}, "", []string{}, nil},
		"MachineGone": {"Without a machine nothing says which instance is meant.", func(_ *testing.T, w *composeWorld, _ *realServer, id string) {
			w.sim.DeleteMachine(id) //nolint:errcheck // seen below
		}, "", []string{"part", "part-disk1"}, nil},
		"Renamed": {"A copy would have its MAC, too.", func(t *testing.T, _ *composeWorld, l *realServer, _ string) {
			l.lxc(t, "rename", "part", "whole", "--project", "maas")
		}, "ErrConflict", []string{"whole", "part-disk1"}, []string{"machine part"}},
		"Attached": {"A disk that somebody attached is his.", func(t *testing.T, _ *composeWorld, l *realServer, _ string) {
			l.lxc(t, "storage", "volume", "create", "fast", "photos", "--type=block", "size=1GiB", "--project", "maas")
			l.lxc(t, "storage", "volume", "attach", "fast", "photos", "part", "--project", "maas")
			t.Cleanup(func() { l.lxc(t, "storage", "volume", "delete", "fast", "photos", "--project", "maas") })
		}, "", []string{"photos"}, nil},
		"OtherMAC": {"An instance of that name with another MAC is not the machine's.", func(t *testing.T, _ *composeWorld, l *realServer, _ string) {
			l.lxc(t, "config", "device", "set", "part", "eth0", "hwaddr", "00:16:3e:99:99:99", "--project", "maas")
		}, "ErrConflict", []string{"part", "part-disk1"}, []string{"machine part"}},
		"Protected": {"LXD's own words say why not.", func(t *testing.T, _ *composeWorld, l *realServer, _ string) {
			l.lxc(t, "config", "set", "part", "security.protection.delete", "true", "--project", "maas")
		}, "VMCreationFailed", []string{"part", "part-disk1"}, []string{"machine part"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, l := newRealWorld(t)
			id := w.composeVM(w.composer, newComposition("part"))
			t.Cleanup(func() { l.removeLeft(t) })
			tc.before(t, w, l, id)
			err := w.newComposer().Decompose(t.Context(), id)
			if errorKinds(err) != tc.want {
				t.Errorf("%s\ngot  %s: %v\nwant %s", tc.reason, errorKinds(err), err, tc.want)
			}
			if diff := cmp.Diff(tc.left, l.listLeft(t)); diff != "" {
				t.Errorf("%s: left in LXD (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.maas, w.listObjects()); diff != "" {
				t.Errorf("%s: left in MAAS (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// removeLeft removes what a test left of the instance "part", under any name.
func (l *realServer) removeLeft(t *testing.T) {
	t.Helper()
	for _, name := range []string{"part", "whole"} {
		if slices.Contains(l.listLeft(t), name) {
			l.lxc(t, "config", "set", name, "security.protection.delete", "false", "--project", "maas")
			l.lxc(t, "delete", name, "--project", "maas")
			l.lxc(t, "storage", "volume", "delete", "fast", "part-disk1", "--project", "maas")
		}
	}
}

// TestRealSync deletes a machine in MAAS if its instance is gone, but not if its LXD is
// gone.
func TestRealSync(t *testing.T) {
	w, l := newRealWorld(t)
	ctx := t.Context()
	small := func(name string) engine.Composition {
		comp := newComposition(name)
		comp.Disks = comp.Disks[:1]
		return comp
	}
	gone, kept := w.composeVM(w.composer, small("gone")), w.composeVM(w.composer, small("kept"))
	t.Cleanup(func() { l.lxc(t, "delete", "kept", "--project", "maas") })
	l.lxc(t, "delete", "gone", "--project", "maas")
	other := w.newComposer()
	m, err := w.maas.Machines.Machine(ctx, gone)
	if err != nil {
		t.Fatal(err)
	}
	host, err := other.HostOf(ctx, m) // by MAAS's word, as the instance is not there
	if err != nil || host.MachineID != "real01" {
		t.Fatalf("%+v, %v", host, err)
	}
	stranded := w.newComposer(func(c *ComposerConfig) {
		c.Credentials = func(context.Context) (engine.Credentials, error) { return makeKey(t).Credentials, nil }
	})
	if _, err := stranded.HostOf(ctx, m); err != nil {
		t.Fatal(err)
	}
	if err := stranded.SyncHost(ctx, host, ""); !errors.Is(err, engine.ErrForbidden) {
		t.Errorf("an LXD that says nothing: %v", err)
	}
	if err := other.SyncHost(ctx, host, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"machine kept"}, w.listObjects()); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
	if err := w.composer.SyncHost(ctx, host, ""); err != nil { // knows both
		t.Error(err)
	}
	if _, err := w.maas.Machines.Machine(ctx, kept); err != nil {
		t.Error(err)
	}
}

// TestRealMACTaken: MAAS has given the MAC to another machine, so the VM gets another MAC.
func TestRealMACTaken(t *testing.T) {
	w, l := newRealWorld(t)
	comp := newComposition("mac1")
	comp.Disks = comp.Disks[:1]
	p := plan{comp: comp, host: serverSurvey{Server: w.servers[0]}, macs: []string{""}}
	p.post.Devices = map[string]map[string]string{"eth0": {}}
	p.chooseMACs()
	if _, err := w.maas.Enlister.Enlist(t.Context(), enlistmentOf(w, comp, p.macs[0], "first")); err != nil {
		t.Fatal(err)
	}
	id := w.composeVM(w.composer, comp)
	t.Cleanup(func() { l.lxc(t, "delete", "mac1", "--project", "maas") })
	m, err := w.maas.Machines.Machine(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	made := query[api.Instance](t, l, "/1.0/instances/mac1?project=maas")
	if got := m.Interfaces[0].MAC; got != made.Devices["eth0"]["hwaddr"] || got == p.macs[0] {
		t.Errorf("MAAS has %s, LXD %s; the first was %s", got, made.Devices["eth0"]["hwaddr"], p.macs[0])
	}
}

// TestRealConcurrent makes several VMs at the same time, each once.
func TestRealConcurrent(t *testing.T) {
	w, l := newRealWorld(t)
	const many = 6
	errs := make(chan error, many)
	for n := range many {
		go func() {
			comp := newComposition(fmt.Sprintf("side%d", n%3)) // each by two processes
			comp.Disks = comp.Disks[:1]
			_, err := w.newComposer().Compose(t.Context(), engine.VMHost{MachineID: "real01"}, comp)
			errs <- err
		}()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		for n := range 3 {
			l.lxc(t, "delete", fmt.Sprintf("side%d", n), "--project", "maas")
		}
	})
	if diff := cmp.Diff([]string{"machine side0", "machine side1", "machine side2"}, w.listObjects()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
