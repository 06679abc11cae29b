package site

import (
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestNoReleaseWithoutLXD deletes and redeploys a VM whose LXD does not answer. MAAS does not release
// it: it runs on. Nor does MAAS abort a deployment.
func TestNoReleaseWithoutLXD(t *testing.T) {
	t.Parallel()
	at, s := openFleet(t, sim.VersionGone)
	ref := engine.Ref{Key: "default/web", Name: "web"}
	spec := engine.VMSpec{Name: "web", Cores: 2, MemoryMiB: 2048, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}, Deploy: &engine.Deployment{Image: "ubuntu/noble"}}
	vm, err := engine.WaitUntilDone(t.Context(), at.VMs.Steps(ref, spec))
	if err != nil {
		t.Fatal(err)
	}
	ref.SystemID = vm.SystemID
	if err := s.SetLXDCondition("host1", sim.ConditionUnreachable); err != nil {
		t.Fatal(err)
	}
	redeploy := spec
	redeploy.Installation = "b"
	_, deleteErr := at.VMs.Delete(t.Context(), ref)
	_, redeployErr := at.VMs.Reconcile(t.Context(), ref, redeploy)
	if !errors.Is(deleteErr, engine.ErrUnavailable) || !errors.Is(redeployErr, engine.ErrUnavailable) {
		t.Errorf("the delete failed with %v, the redeployment with %v", deleteErr, redeployErr)
	}
	m, err := at.Machines.Machine(t.Context(), vm.SystemID)
	if err != nil || m.Status != engine.StatusDeployed {
		t.Errorf("the VM is %s: %v", m.StatusName, err)
	}
	if err := s.EditMachine(vm.SystemID, sim.MachineEdit{StatusName: new("Deploying")}); err != nil {
		t.Fatal(err)
	}
	if _, err := at.VMs.Delete(t.Context(), ref); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("while it is deployed, the delete failed with %v", err)
	}
	if n := s.Journal().Count("POST machines/{id}/ abort"); n != 0 {
		t.Errorf("MAAS was asked %d times to abort", n)
	}
}
