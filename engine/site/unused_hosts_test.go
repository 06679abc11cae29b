package site

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestHostOfMAASAlone: MAAS made a VM on a VM host that somebody registered there, and
// then LXD was chosen to make VMs. The host counts no more, and the VM can be deleted.
func TestHostOfMAASAlone(t *testing.T) {
	t.Parallel()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), "key.pem"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		change func(*testing.T, *sim.Server, string)
	}{
		"Ready": {"Its LXD tells that it is off.", func(*testing.T, *sim.Server, string) {}},
		"Vanished": {"MAAS's refresh of the host finds that the instance is gone.", func(t *testing.T, s *sim.Server, _ string) {
			if err := s.RemoveInstance("h1", "maas", "web"); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sim.StartServer(t, sim.Model{MAASVersion: sim.Version37, LXDListen: sim.LXDListenAuto, Hosts: []sim.HostModel{
				{Name: "h1", Cores: 8, MemoryMiB: 16384, Project: "maas", TrustedCertificates: []string{key.Certificate}},
			}})
			config := Config{
				URL: s.URL, APIKey: s.APIKey(), Ledger: ledger.NewMemory(nil), Interval: 20 * time.Millisecond,
				Credentials: func(context.Context) (engine.Credentials, error) { return key.Credentials, nil },
			}
			at, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			ref := engine.Ref{Key: "test/web", Name: "web"}
			spec := engine.VMSpec{Name: "web", Cores: 2, MemoryMiB: 2048, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}}
			vm, err := engine.WaitUntilDone(t.Context(), at.VMs.Steps(ref, spec))
			if err != nil {
				t.Fatal(err)
			}
			if unused, err := at.UnusedHosts(t.Context()); len(unused) > 0 || err != nil {
				t.Errorf("MAAS makes VMs on all of its hosts, got %q, %v", unused, err)
			}
			config.Composer = LXD
			if at, err = New(config); err != nil {
				t.Fatal(err)
			}
			unused, err := at.UnusedHosts(t.Context())
			if diff := cmp.Diff([]string{"h1"}, unused); diff != "" || err != nil {
				t.Errorf("-want +got:\n%s%v", diff, err)
			}
			tc.change(t, s, vm.SystemID)
			ref.SystemID, ref.Finished = vm.SystemID, true
			if _, err := engine.WaitUntilDone(t.Context(), func(ctx context.Context) (engine.Result[engine.VM], error) { return at.VMs.Delete(ctx, ref) }); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if left := s.Instances(); len(left) > 0 {
				t.Errorf("%s\nleft are %+v", tc.reason, left)
			}
			if _, there := s.Machine(vm.SystemID); there {
				t.Errorf("%s\nMAAS has its machine", tc.reason)
			}
		})
	}
}
