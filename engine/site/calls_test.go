package site

import (
	"context"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// openFleet is a site of a simulated MAAS with one LXD host of ours: with VM hosts,
// or without.
func openFleet(t *testing.T, version string) (*Site, *sim.Server) {
	t.Helper()
	at, s, _ := openFleetOf(t, version, true)
	return at, s
}

// openFleetOf is that of hosts whose certificates are noted, or not yet. Another
// process of the fleet is opened by open.
func openFleetOf(t *testing.T, version string, noted bool) (at *Site, s *sim.Server, open func() *Site) {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), fleetkey.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s = sim.StartServer(t, sim.Model{MAASVersion: version, LXDListen: sim.LXDListenPorts, Hosts: []sim.HostModel{{
		Name: "host1", Cores: 8, MemoryMiB: 16384, TrustedCertificates: []string{key.Certificate},
	}}})
	open = func() *Site {
		t.Helper()
		at, err := New(Config{
			URL: s.URL, APIKey: s.APIKey(), Ledger: ledger.NewMemory(nil), Composer: Auto, Interval: 20 * time.Millisecond,
			Credentials: func(context.Context) (engine.Credentials, error) { return key.Credentials, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if version != sim.VersionGone {
		return open(), s, open
	}
	host := s.LXDs()[0]
	record := engine.HostRecord{
		Name: host.Name, Zone: "default", Pool: "default", DefaultStoragePool: host.StoragePools[0].Name,
		Endpoint: engine.Endpoint{Address: host.Listening[0], Project: "default"},
	}
	tags, data := []string{engine.HostTag}, record.OwnerData()
	if noted {
		maps.Copy(data, engine.ServerNote(shownBy(t, host)))
	}
	maps.DeleteFunc(data, func(_, value string) bool { return value == "" })
	if err := s.EditMachine(host.Name, sim.MachineEdit{Tags: &tags, OwnerData: &data}); err != nil {
		t.Fatal(err)
	}
	return open(), s, open
}

// shownBy is the fingerprint of the certificate that an LXD shows.
func shownBy(t *testing.T, host sim.LXD) string {
	t.Helper()
	shown, err := fleetkey.Fingerprint(host.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// cost is what the journal says of a VM's life: calls of MAAS that change
// something, and those of the LXD that are about its instance or its volumes.
type cost struct{ writes, lxd int }

// isOwn tells a call of a VM's own from those of the host's inventory, which all
// VMs share.
func isOwn(c sim.Call) bool {
	inventory := []string{
		"GET 1.0", "GET 1.0/resources", "GET 1.0/projects", "GET 1.0/networks", "GET 1.0/profiles", "GET 1.0/instances",
		"GET 1.0/storage-pools", "GET 1.0/storage-pools/{name}/resources", "GET 1.0/storage-pools/{name}/volumes/custom",
	}
	return !slices.Contains(inventory, c.Route)
}

func costOf(t *testing.T, s *sim.Server, doing string) cost {
	t.Helper()
	journal := s.Journal()
	var made []string
	for _, c := range journal.Calls {
		if !strings.HasPrefix(c.Route, http.MethodGet) {
			made = append(made, c.Route)
		}
	}
	var own []string
	for _, c := range journal.LXD.Calls {
		if isOwn(c) {
			own = append(own, c.Route)
		}
	}
	t.Logf("%s: MAAS %q, LXD %q and %d for inventories", doing, made, own, len(journal.LXD.Calls)-len(own))
	return cost{len(made), len(own)}
}

// TestCallsOfChoices: what a VM costs that MAAS makes, and one that its LXD is
// asked for, from nothing to Deployed and back, beyond the reads that all share.
func TestCallsOfChoices(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason           string
		version          string
		disks            int
		created, deleted cost
	}{
		"MAAS": {"Compose, mark, commission, deploy, mark; release, delete. LXD is MAAS's to ask.", sim.Version37, 1,
			cost{5, 0}, cost{2, 0}},
		"LXD": {"Enlisting marks it, too; LXD is asked to make it and waited for; then whether it is there, before the release, what it is, to delete it, and waited for.", sim.VersionGone, 1,
			cost{4, 2}, cost{2, 4}},
		"LXDThreeDisks": {"Each disk more is a volume.", sim.VersionGone, 3,
			cost{4, 4}, cost{2, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, s := openFleet(t, tc.version)
			ref := engine.Ref{Key: "default/web", Name: "web"}
			spec := engine.VMSpec{Name: "web", Cores: 2, MemoryMiB: 2048, Deploy: &engine.Deployment{Image: "ubuntu/noble"}}
			for _, disk := range []string{"root", "data", "logs"}[:tc.disks] {
				spec.Disks = append(spec.Disks, engine.Disk{Name: disk, SizeGB: 8})
			}
			s.ResetJournal()
			vm, err := engine.WaitUntilDone(t.Context(), at.VMs.Steps(ref, spec))
			if err != nil {
				t.Fatal(err)
			}
			if got := costOf(t, s, "created"); got.writes > tc.created.writes || got.lxd > tc.created.lxd {
				t.Errorf("%s to create it took %+v, want at most %+v", tc.reason, got, tc.created)
			}
			s.ResetJournal()
			ref.SystemID = vm.SystemID
			if _, err := engine.WaitUntilDone(t.Context(), func(ctx context.Context) (engine.Result[engine.VM], error) { return at.VMs.Delete(ctx, ref) }); err != nil {
				t.Fatal(err)
			}
			if got := costOf(t, s, "deleted"); got.writes > tc.deleted.writes || got.lxd > tc.deleted.lxd {
				t.Errorf("%s to delete it took %+v, want at most %+v", tc.reason, got, tc.deleted)
			}
		})
	}
}
