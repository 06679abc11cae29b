package assembly_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

func itoa(n int) string { return strconv.Itoa(n) }

// makeHost is a host that is there, and what a front end knows of it.
func (p process) makeHost(t *testing.T, spec engine.HostSpec) (engine.Host, engine.Ref) {
	t.Helper()
	h, err := p.applyHost(newHostRef, spec)
	if err != nil {
		t.Fatal(err)
	}
	return h, engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID, Finished: true}
}

// TestHostSettles changes in place what can be, in one step.
func TestHostSettles(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		_, ref := p.makeHost(t, metalHost())
		spec := metalHost()
		spec.Name, spec.Zone, spec.Pool, spec.Tags, spec.RemovedTags = "hv-new", "az2", "default", []string{"green"}, []string{"blue"}
		spec.CPUOvercommit, spec.MemoryOvercommit, spec.DefaultStoragePool = 2, 1, "local"
		r.sim.ResetJournal()
		res, err := p.engine.Hosts.Reconcile(t.Context(), ref, spec)
		if err != nil || !res.Done {
			t.Fatalf("got %+v, %v; want it done in one step", res, err)
		}
		got := r.wantRecord(t, "m1")
		if got.Name != "hv-new" || got.Zone.Name != "az2" || got.Pool.Name != "default" || got.CPU != 2 || got.Memory != 1 || got.defaultPool() != "local" ||
			!slices.Contains(got.Tags, "green") || slices.Contains(got.Tags, "blue") {
			t.Errorf("got %+v", got)
		}
		h := res.Object.VMHost
		if h.Name != "hv-new" || h.Zone != "az2" || h.CPUOvercommit != 2 || !slices.Contains(h.Tags, "green") || slices.Contains(h.Tags, "blue") {
			t.Errorf("the step says %+v", h)
		}
		data := r.machine(t, "m1").OwnerData
		if data["maaslxd-zone"] != "az2" || data["maaslxd-tags"] != "green,pod-console-logging" || data["maaslxd-cpu-overcommit"] != "2" || data["maaslxd-storage-pool"] != "local" {
			t.Errorf("owner data: %v", data)
		}
		r.wantNoProject(t)
		r.sim.ResetJournal()
		if res, err := p.engine.Hosts.Reconcile(t.Context(), ref, spec); err != nil || !res.Done || len(r.writes()) != 0 {
			t.Errorf("nothing differs, and %v were sent: %+v, %v", r.writes(), res, err)
		}
	})
}

// TestHostRefusedNames wants an error about each name that MAAS or the LXD does
// not know.
func TestHostRefusedNames(t *testing.T) {
	cases := map[string]func(*engine.HostSpec){
		"zone":                 func(s *engine.HostSpec) { s.Zone = "az9" },
		"pool":                 func(s *engine.HostSpec) { s.Pool = "nosuch" },
		"default_storage_pool": func(s *engine.HostSpec) { s.DefaultStoragePool = "nosuch" },
		"cpu_overcommit":       func(s *engine.HostSpec) { s.CPUOvercommit = 11 },
		"memory_overcommit":    func(s *engine.HostSpec) { s.MemoryOvercommit = -1 },
		"project":              func(s *engine.HostSpec) { s.Project = "" },
		"lxd_client_cert":      func(s *engine.HostSpec) { s.Credentials = engine.Credentials{} },
		"lxd.listen_port":      func(s *engine.HostSpec) { s.LXD.ListenPort = 70000 },
		"lxd.networks":         func(s *engine.HostSpec) { s.Bridge = nil },
		"deploy":               func(s *engine.HostSpec) { s.Machine.Deploy = nil },
	}
	for field, change := range cases {
		t.Run(field, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				spec := metalHost()
				change(&spec)
				_, err := p.applyHost(newHostRef, spec)
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != field || bad.Hint == "" {
					t.Errorf("want an error about %s with a hint, got %v", field, err)
				}
				if field != "default_storage_pool" && len(r.writes()) != 0 {
					t.Errorf("%v were sent before it was said", r.writes())
				}
			})
		})
	}
}

// TestHostWaitsForCompose: an update lists the instances anew, which must not
// happen beside a compose.
func TestHostWaitsForCompose(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		rows := newRows()
		placePendingRow(t, rows, h.VMHost.HostKey)
		q := r.start(t, rows, 0, breakage{})
		spec := metalHost()
		spec.CPUOvercommit = 2
		r.sim.ResetJournal()
		if _, err := q.engine.Hosts.Reconcile(t.Context(), ref, spec); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("update beside a compose: %v", err)
		}
		if _, err := q.engine.Hosts.Delete(t.Context(), ref); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("delete beside a compose: %v", err)
		}
		for _, route := range []string{"PUT vm-hosts/{id}/", "DELETE vm-hosts/{id}/"} {
			if r.sim.Journal().Count(route) != 0 {
				t.Errorf("%s was sent", route)
			}
		}
	})
}

// placePendingRow puts a row into the ledger whose compose is under way on the host.
func placePendingRow(t *testing.T, rows engine.Ledger, hostKey string) {
	t.Helper()
	if err := placeOn(t, rows, hostKey); err != nil {
		t.Fatal(err)
	}
}

// placeOn reserves room on a host as a process does that is about to compose.
func placeOn(t *testing.T, rows engine.Ledger, hostKey string) error {
	t.Helper()
	tag, err := rows.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	free := engine.Need{Cores: 8, MemoryMiB: 8192, DiskBytes: map[string]int64{"local": 1e12}}
	_, _, err = rows.Place(t.Context(), engine.Reservation{
		Key: vmKey, Name: "web-1", Need: engine.Need{Cores: 1, MemoryMiB: 1024, DiskBytes: map[string]int64{"": 8e9}},
		Candidates: []engine.Candidate{{HostKey: hostKey, Zone: "az1", Free: free, DefaultPool: "local"}}, Inventory: tag,
	})
	return err
}

// TestHostWhatRanIsLeftAlone wants a finished host reported, whatever state its
// machine is in.
func TestHostWhatRanIsLeftAlone(t *testing.T) {
	states := []string{"Broken", "Rescue mode", "Testing", "Failed deployment", "Ready", "Allocated", "Deploying", "Releasing", "Deployed"}
	for _, status := range states {
		t.Run(status, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				_, ref := p.makeHost(t, metalHost())
				r.edit(t, "m1", sim.MachineEdit{StatusName: &status, PowerState: ptr("off")})
				r.sim.ResetJournal()
				res, err := p.engine.Hosts.Reconcile(t.Context(), ref, metalHost())
				if err != nil || !res.Done || res.Object.Machine.StatusName != status || res.Object.VMHost.Name != "m1" {
					t.Errorf("want it reported as %s, got %+v, %v", status, res, err)
				}
				if w := r.writes(); len(w) != 0 {
					t.Errorf("%v were sent", w)
				}
			})
		})
	}
}

// TestHostRedeployed: an operator released the machine, and runs an LXD of his
// own on it. It is not taken over.
func TestHostRedeployed(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, ref := p.makeHost(t, metalHost())
		r.call(t, "DELETE", "vm-hosts/"+itoa(h.VMHost.ID)+"/", nil)
		path := "machines/" + ref.SystemID + "/"
		r.post(t, path, "release")
		r.sim.Settle()
		data := bootScript(metalHost())
		r.call(t, "POST", path+"?op=deploy", map[string][]string{"user_data": {base64Text(data)}})
		r.sim.Settle()
		before := r.machine(t, "m1")
		r.sim.ResetJournal()
		res, err := p.engine.Hosts.Reconcile(t.Context(), ref, metalHost())
		if err != nil || !res.Done || res.Object.Ours {
			t.Errorf("want it reported as not ours, got %+v, %v", res, err)
		}
		if err := p.deleteHost(ref); err != nil {
			t.Errorf("delete: %v", err)
		}
		if diff := cmp.Diff(before, r.machine(t, "m1")); diff != "" || len(r.writes()) != 0 {
			t.Errorf("%v changed it (-before +after):\n%s", r.writes(), diff)
		}
	})
}
