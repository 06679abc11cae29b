package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// Redeployment is what a machine is deployed with again.
type Redeployment struct {
	engine.Deployment
	// Installation is a word that no earlier redeployment had.
	Installation string
}

// RedeployVM releases a VM that carries our mark and deploys it again: it keeps its system id,
// MAC addresses and static links. A VM that an earlier run has left half redeployed is gone on
// with. Its annotations are written again, as a release removes them.
func RedeployVM(ctx context.Context, vms engine.Kind[engine.VMSpec, engine.VM], m engine.Machine, d Redeployment) error {
	_, finished := engine.MarkerIn(m.Description)
	phase := m.Status.Phase()
	switch begun := !finished && (phase == engine.PhaseReady || phase == engine.PhaseAllocated || phase == engine.PhaseDeploying || phase == engine.PhaseReleasing); {
	case begun && m.Image == "" && d.Image == "":
		return &engine.SpecError{
			Field: "image", Message: m.Hostname + " was released already, so MAAS does not tell its image any more",
			Hint: "Name the image.", Err: engine.ErrInvalid,
		}
	case !begun && !isDeployed(m):
		return notDeployedError(m)
	}
	deploy := d.like(m)
	// The VM is there: of what it is made of, its record in the ledger counts.
	spec := engine.VMSpec{
		Name: m.Hostname, Cores: max(m.Cores, 1), MemoryMiB: max(m.MemoryMiB, engine.MinMemoryMiB), Disks: []engine.Disk{{Name: "root", SizeGB: rootGB(m)}},
		Deploy: &deploy, Installation: d.Installation, Annotations: annotations(m),
	}
	_, err := engine.Wait(ctx, vms.Steps(engine.Ref{Key: m.VMMark(), Name: m.Hostname, SystemID: m.SystemID}, spec))
	return asActionError(err)
}

// RedeployMachine releases a machine that carries our mark, allocates it and deploys it again.
// It refuses one that somebody else installed.
func RedeployMachine(ctx context.Context, metal engine.Kind[engine.MachineSpec, engine.BareMetal], m engine.Machine, d Redeployment) error {
	if !isDeployed(m) {
		return notDeployedError(m)
	}
	deploy := d.like(m)
	spec := engine.MachineSpec{Machine: m.SystemID, Deploy: &deploy, Installation: d.Installation}
	_, err := engine.Wait(ctx, metal.Steps(engine.Ref{Key: m.MarkedBy(), SystemID: m.SystemID}, spec))
	return asActionError(err)
}

// CheckNoVMHost refuses the machine of a VM host: a redeployment would destroy its VMs.
func CheckNoVMHost(ctx context.Context, hosts VMHosts, m engine.Machine) error {
	all, err := hosts.Hosts(ctx)
	if err != nil {
		return err
	}
	isOne := func(h engine.VMHost) bool { return h.MachineID == m.SystemID }
	if !slices.ContainsFunc(all, isOne) && !slices.Contains(m.Tags, engine.HostTag) && m.OwnerData[engine.FingerprintData] == "" {
		return nil
	}
	return &engine.SpecError{
		Field: "machine", Message: m.Hostname + " is a VM host, or becomes one, and is not redeployed",
		Hint: "Its VMs would be lost. Replace the VM host instead.", Err: engine.ErrConflict,
	}
}

// like fills in the image and the kernel that are on the machine, where no image is named.
func (d Redeployment) like(m engine.Machine) engine.Deployment {
	if d.Image == "" {
		d.Image = m.Image
		if d.Kernel == "" {
			d.Kernel = m.Kernel
		}
	}
	return d.Deployment
}

func isDeployed(m engine.Machine) bool {
	return m.Status == engine.StatusDeployed || m.Status == engine.StatusFailedDeployment
}

// notDeployedError says that there is nothing to deploy again.
func notDeployedError(m engine.Machine) error {
	return &engine.SpecError{
		Field: "machine", Message: fmt.Sprintf("%s is %s, and only what is deployed is redeployed", m.Hostname, m.StatusName),
		Hint: "Bring it back to Deployed in MAAS. If its resource has deploy, an apply deploys it.", Err: engine.ErrConflict,
	}
}

// rootGB is the size of the first disk.
func rootGB(m engine.Machine) int64 {
	if len(m.Disks) == 0 {
		return 1
	}
	return max(m.Disks[0].SizeGB, 1)
}

// annotations are those of a machine that are not marks of ours.
func annotations(m engine.Machine) map[string]string {
	theirs := map[string]string{}
	for key, value := range m.OwnerData {
		if !strings.HasPrefix(key, engine.MarkerPrefix) && value != "" {
			theirs[key] = value
		}
	}
	return theirs
}

// asActionError names the attribute of the action that a field of the spec came from.
func asActionError(err error) error {
	bad, ok := errors.AsType[*engine.SpecError](err)
	if !ok {
		return err
	}
	named := *bad
	field, isDeploy := strings.CutPrefix(bad.Field, "deploy.")
	if named.Field = field; !isDeploy {
		named.Field = "machine"
	}
	return &named
}
