package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// Redeployment says what a VM is deployed with again.
type Redeployment struct {
	engine.Deployment
	// Installation is a name that no earlier redeployment had.
	Installation string
}

// RedeployVM releases a VM that carries our mark and deploys it again. It keeps its system id,
// MAC addresses and static links. Its annotations are written again, as a release removes them.
// If it ran from memory, it does so again. A VM that is released already is refused: MAAS no
// longer tells what ran there, nor whether it used its disks.
func RedeployVM(ctx context.Context, vms engine.Kind[engine.VMSpec, engine.VM], m engine.Machine, d Redeployment, watch ...func(engine.Progress)) error {
	if !isDeployed(m) {
		return notDeployedError(m)
	}
	deploy := d.deploymentFor(m)
	// The VM exists: its record in the ledger tells what it is made of.
	spec := engine.VMSpec{
		Name: m.Hostname, Cores: max(m.Cores, 1), MemoryMiB: max(m.MemoryMiB, engine.MinMemoryMiB), Disks: []engine.Disk{{Name: "root", SizeGB: rootDiskGB(m)}},
		HugePages: m.HugePages, Deploy: &deploy, Installation: d.Installation, Annotations: foreignAnnotations(m),
	}
	_, err := engine.WaitUntilDone(ctx, vms.Steps(engine.Ref{Key: m.VMMark(), Name: m.Hostname, SystemID: m.SystemID}, spec), watch...)
	return asActionError(err)
}

// deploymentFor fills in the present image and kernel, if no image is named. It also fills in
// whether the machine runs from memory and reports its hardware to MAAS.
func (d Redeployment) deploymentFor(m engine.Machine) engine.Deployment {
	d.Ephemeral, d.HardwareSync = m.Ephemeral, m.HardwareSync
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
		Field: fieldpath.New("machine"), Message: fmt.Sprintf("%s is %s, but only a Deployed VM can be redeployed", m.Hostname, m.StatusName),
		Hint: "Bring it back to Deployed in MAAS, or release it there. When it is Ready, the next run of its resource deploys it.", Err: engine.ErrConflict,
	}
}

// rootDiskGB is the size of the first disk.
func rootDiskGB(m engine.Machine) int64 {
	if len(m.Disks) == 0 {
		return 1
	}
	return max(m.Disks[0].SizeGB, 1)
}

// foreignAnnotations are the annotations of a machine that are not our marks.
func foreignAnnotations(m engine.Machine) map[string]string {
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
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, asActionError(one))
		}
		return errors.Join(all...)
	}
	bad, ok := errors.AsType[*engine.SpecError](err)
	if !ok {
		return err
	}
	named := *bad
	field, isDeploy := bad.Field.CutPrefix(fieldpath.New("deploy"))
	if named.Field = field; !isDeploy || field.IsEmpty() {
		named.Field = fieldpath.New("machine")
	}
	return &named
}
