package lxd

import (
	"context"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestAddDisk adds a disk to a running VM. If a run is cut off at any of its calls, the
// next run continues it, and a delete leaves nothing.
func TestAddDisk(t *testing.T) {
	t.Parallel()
	const instances, volumes = "lxd/h1/1.0/instances/*", "lxd/h1/1.0/storage-pools/**"
	cases := map[string]struct {
		reason string
		fault  *sim.Fault
	}{
		"Whole":      {"Nothing is in the way, and the pool is the default one.", nil},
		"Note":       {"Nothing was begun.", &sim.Fault{Method: "PUT", Path: instances, Kind: sim.FaultStatus, Status: 500}},
		"NoteLost":   {"It was begun.", &sim.Fault{Method: "PUT", Path: instances, Kind: sim.FaultLostReply}},
		"Volume":     {"The instance tells of a volume that is not there.", &sim.Fault{Method: "POST", Path: volumes, Kind: sim.FaultStatus, Status: 500}},
		"Attach":     {"The volume is there, and nobody uses it.", &sim.Fault{Method: "PUT", Path: instances, Nth: 2, Kind: sim.FaultStatus, Status: 503}},
		"AttachLost": {"It was added.", &sim.Fault{Method: "PUT", Path: instances, Nth: 2, Kind: sim.FaultLostReply}},
	}
	for name, tc := range cases {
		for _, end := range []string{"GoesOn", "Deleted"} {
			t.Run(name+end, func(t *testing.T) {
				t.Parallel()
				w, book := newWorld(t, 1), ledger.NewMemory(nil)
				ref, want := w.createRunningVM(t, func(*engine.VMSpec) {})
				extra, in, volumes := engine.Disk{Name: "extra", SizeGB: 7, Pool: "fast"}, "fast", []string{"web1-disk1", "web1-disk2"}
				if tc.fault == nil { // of the default pool, which is listed first
					extra.Pool, in, volumes = "", "default", []string{"web1-disk2", "web1-disk1"}
				}
				want.Disks = append(want.Disks, extra)
				if tc.fault != nil {
					once := *tc.fault // the ends of a case share it
					once.Times = 1
					w.sim.AddFault(once)
				}
				if _, err := w.newEngineWith(t, book).VMs.Reconcile(t.Context(), ref, want); (err != nil) != (tc.fault != nil) {
					t.Errorf("%s\ngot %v", tc.reason, err)
				}
				if end == "GoesOn" {
					vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, want))
					if err != nil || len(vm.Disks) != 3 || vm.Disks[2].SizeGB != 7 || vm.Disks[2].Pool != in {
						t.Errorf("%s\nwant three disks, got %+v, %v", tc.reason, vm.Disks, err)
					}
					if i, _ := w.onlyInstance(t); !i.Running {
						t.Error("it was turned off")
					}
					w.wantVolumes(t, volumes...)
				}
				last := w.newEngineWith(t, book)
				removal := func(ctx context.Context) (engine.Result[engine.VM], error) { return last.VMs.Delete(ctx, ref) }
				if _, err := engine.WaitUntilDone(t.Context(), removal); err != nil {
					t.Errorf("%s\ndelete: %v", tc.reason, err)
				}
				w.wantVolumes(t)
				rows, err := book.PendingRows(t.Context())
				if err != nil || len(rows) != 0 && end == "GoesOn" { // else it may be unclear, and passes
					t.Errorf("left in the ledger: %+v, %v", rows, err)
				}
			})
		}
	}
}
