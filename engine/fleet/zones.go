package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// ZoneNeed says what a zone must have room for. The zero value asks for the least: one VM of
// the smallest size, or any bare-metal machine.
type ZoneNeed struct {
	// Placement says which VM hosts count, by Zone, Pool and Tags. Its Group and Project matter
	// only when the VM is placed.
	Placement engine.Placement
	// Host is the only VM host that counts, named as in VMSpec; empty: all count.
	Host string
	// Cores and MemoryMiB of a VM; zero: 1 and MinMemoryMiB.
	Cores     int
	MemoryMiB int64
	// HugePages asks for memory in huge pages, on hosts whose huge pages are known.
	HugePages bool
	// Architectures are those of the VM's image, such as "amd64"; none: any suits.
	Architectures []string
	// Disks of a VM; none: the room in storage pools does not matter.
	Disks []engine.Disk
	// Machines says which Ready machines count.
	Machines engine.Selector
}

// ZoneCapacity is the capacity of a zone for a need.
type ZoneCapacity struct {
	Zone     string
	Hosts    int // VM hosts with room for the VM
	Machines int // Ready machines that fit
}

// Room is the free capacity of a MAAS for machines at one moment. It does not count promised
// VMs that are not made yet. It tells where to begin; placement decides.
type Room struct {
	Hosts []engine.VMHost
	Ready []engine.Machine
}

// VMHosts lists the VM hosts from the Composer's cached list. A MAAS without VM hosts has none,
// which is no error.
func (r *Reader) VMHosts(ctx context.Context) ([]engine.VMHost, error) {
	hosts, err := r.cfg.Composer.Hosts(ctx)
	if err != nil && !errors.Is(err, engine.ErrGone) {
		return nil, fmt.Errorf("cannot list the VM hosts: %w", err)
	}
	return hosts, nil
}

// ReadyMachines lists the Ready machines, VMs among them, by one call.
func (r *Reader) ReadyMachines(ctx context.Context) ([]engine.Machine, error) {
	ready, err := r.cfg.Machines.MachinesWhere(ctx, engine.MachineFilter{Status: engine.StatusReady})
	if err != nil {
		return nil, fmt.Errorf("cannot list the Ready machines: %w", err)
	}
	return slices.DeleteFunc(ready, func(m engine.Machine) bool { return m.Err != nil }), nil
}

// Zones lists the zones, sorted by name, that have at least one VM host with room for the need,
// or one Ready machine that fits. They are the failure domains of a cluster.
func (r Room) Zones(need ZoneNeed) ([]ZoneCapacity, error) {
	zones := map[string]ZoneCapacity{}
	fitting, err := need.fittingHosts(r.Hosts)
	if err != nil {
		return nil, err
	}
	for _, h := range fitting {
		z := zones[h.Zone]
		z.Hosts++
		zones[h.Zone] = z
	}
	for _, m := range r.Ready {
		// A VM of ours is Ready for a moment, and MAAS may not know its host.
		if owner, _ := engine.MarkerIn(m.Description); owner != "" || m.Status != engine.StatusReady || !need.Machines.Matches(m) {
			continue
		}
		z := zones[m.Zone]
		z.Machines++
		zones[m.Zone] = z
	}
	list := make([]ZoneCapacity, 0, len(zones))
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		z := zones[name]
		z.Zone = name
		list = append(list, z)
	}
	return list, nil
}

// fittingHosts are the VM hosts with room, by placement's rules.
func (n ZoneNeed) fittingHosts(hosts []engine.VMHost) ([]engine.VMHost, error) {
	byID := map[string]engine.VMHost{}
	placeable := make([]placement.Host, 0, len(hosts))
	told := false // some host knows its huge pages
	for _, h := range hosts {
		if n.Host != "" && !h.MatchesName(n.Host) {
			continue
		}
		told = told || h.HasHugePages()
		p := h.PlacementHost()
		byID[p.ID] = h
		placeable = append(placeable, p)
	}
	found, err := placement.FindCandidates(placeable, placement.Need{
		Zone: n.Placement.Zone, Pool: n.Placement.Pool, Tags: n.Placement.Tags,
		Cores: cmp.Or(n.Cores, 1), MemoryMiB: cmp.Or(n.MemoryMiB, int64(engine.MinMemoryMiB)), HugePages: n.HugePages && told, Architectures: n.Architectures, Disks: engine.PlacementDisks(n.Disks),
	})
	var misfit *placement.FitError
	if errors.As(err, &misfit) {
		return nil, nil
	}
	if err != nil {
		return nil, engine.PlacementError("a VM", err)
	}
	fitting := make([]engine.VMHost, len(found))
	for i, f := range found {
		fitting[i] = byID[f.HostID]
	}
	return fitting, nil
}
