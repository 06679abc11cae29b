package assembly_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestHostGoesWithItsVMs deletes a VM host and its VMs at the same moment, as a
// destroy does: the host waits for the VMs, whatever the ledger knows of them.
func TestHostGoesWithItsVMs(t *testing.T) {
	cases := map[string]struct {
		reason  string
		forgets bool          // the ledger of the runner that made them
		apart   bool          // the VMs go in another process
		later   time.Duration // between one VM and the next
	}{
		"Known":     {reason: "The rows of the VMs are leaving."},
		"Forgotten": {reason: "A throw-away runner has no rows; this process deletes the VMs.", forgets: true},
		"Apart":     {reason: "Another process deletes the VMs, and MAAS shows that it releases them.", forgets: true, apart: true},
		"Queued":    {reason: "Terraform deletes ten things at once, and comes to the last VM late.", forgets: true, later: 20 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := hostWorld()
			m.Latency.Release = 30 * time.Second
			inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
				_, host := p.makeHost(t, metalHost())
				refs := make([]engine.Ref, 2)
				for n := range refs {
					refs[n] = p.deployedOn(t, fmt.Sprint("web-", n), "m1")
				}
				vms := p
				if tc.forgets {
					p = r.start(t, ledger.NewMemory(nil), 0, breakage{})
					vms = p
				}
				if tc.apart {
					vms = r.start(t, ledger.NewMemory(nil), 0, breakage{})
				}
				var going errgroup.Group
				going.Go(func() error { return p.deleteHost(host) })
				for n, ref := range refs {
					going.Go(func() error {
						time.Sleep(time.Second + time.Duration(n)*tc.later)
						return vms.delete(ref)
					})
				}
				if err := going.Wait(); err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				r.wantNoRecord(t)
				r.wantReady(t, "m1")
			})
		})
	}
}

// deployedOn makes a VM on a host, and deploys it.
func (p process) deployedOn(t *testing.T, name, host string) engine.Ref {
	t.Helper()
	ref := engine.Ref{Key: engine.Key("default/" + name), Name: name}
	vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, engine.VMSpec{
		Name: name, Host: host, Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 4}}, Deploy: noble(),
	}))
	if err != nil {
		t.Fatal(err)
	}
	ref.SystemID, ref.Finished = vm.SystemID, true
	return ref
}
