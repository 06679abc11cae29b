package assembly_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestVMOnLXDTooNew: MAAS is not asked for what it cannot do, a VM without a
// host goes to another one, and a check finds the same as the making.
func TestVMOnLXDTooNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		m.Hosts[0].LXDVersion = "6.7"
		r := inMemoryOf(t, m)
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		spec := engine.VMSpec{Name: "web", Host: m.Hosts[0].Name, Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 4}}}
		refused := func(err error) {
			t.Helper()
			var bad *engine.SpecError
			if !errors.As(err, &bad) || bad.Field.String() != "vm_host" || !strings.Contains(bad.Message, "LXD 6.7") || !strings.Contains(bad.Hint, "5.21/stable") {
				t.Errorf("want an error about vm_host with a way out, got %v", err)
			}
		}
		_, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/web", Name: "web"}, spec))
		refused(err)
		spec.Host = ""
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/web", Name: "web"}, spec))
		if err != nil || vm.HostName != m.Hosts[1].Name {
			t.Errorf("want it on %s, got %s, %v", m.Hosts[1].Name, vm.HostName, err)
		}
		if n := r.sim.Journal().Count("POST vm-hosts/{id}/ compose"); n != 1 {
			t.Errorf("MAAS was asked to compose %d times", n)
		}
	})
}
