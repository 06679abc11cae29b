package fleet

import (
	"errors"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// MaxCapacity is the limit of the count of VMs on one host.
const MaxCapacity = 1000

// HostCapacity says for how many VMs of one need a host has room.
type HostCapacity struct {
	Host
	VMs int // at most MaxCapacity
	// NoRoomReason says why there is no room for any VM, in placement's words; empty: there is
	// room.
	NoRoomReason string
}

// Capacity says for how many VMs of the need each host has room, one after the other, by
// placement's rules, and why for none. Room that the ledger has promised counts as used.
func (f Fleet) Capacity(need placement.Need) ([]HostCapacity, error) {
	list := make([]HostCapacity, 0, len(f.Hosts))
	for _, h := range f.Hosts {
		vms, misfit, err := h.countVMs(need)
		if err != nil {
			return nil, err
		}
		list = append(list, HostCapacity{Host: h, VMs: vms, NoRoomReason: misfit})
	}
	return list, nil
}

// countVMs places VMs on the host until there is no room.
func (h Host) countVMs(need placement.Need) (vms int, misfit string, err error) {
	p := h.placementHost()
	need.HugePages = need.HugePages && h.HasHugePages()
	for ; vms < MaxCapacity; vms++ {
		found, err := placement.FindCandidates([]placement.Host{p}, need)
		if none, ok := errors.AsType[*placement.FitError](err); ok {
			if vms == 0 {
				misfit = string(none.Rejections()[0].Reason) + ": " + none.Rejections()[0].Detail
			}
			return vms, misfit, nil
		}
		if err != nil {
			return 0, "", engine.PlacementError("a VM", err)
		}
		addVM(&p, need, found[0])
	}
	return vms, "", nil
}

// placementHost is the host as placement sees it, less the ledger's promises.
func (h Host) placementHost() placement.Host {
	p := h.PlacementHost()
	p.Cores.Used += h.Cores.FreeAtRatio(h.CPUOvercommit) - h.FreeCores
	p.MemoryMiB.Used += h.MemoryMiB.FreeAtRatio(h.MemoryOvercommit) - h.FreeMemoryMiB
	return p
}

// addVM puts a VM of the need on the host.
func addVM(p *placement.Host, need placement.Need, c placement.Candidate) {
	p.Cores.Used += int64(need.Cores)
	p.MemoryMiB.Used += need.MemoryMiB
	if need.HugePages {
		p.HugePagesMiB.Used += need.MemoryMiB
	}
	for _, share := range c.Storage {
		for n := range p.StoragePools {
			if p.StoragePools[n].Name == share.Pool {
				p.StoragePools[n].FreeBytes -= share.TakeBytes
			}
		}
	}
}
