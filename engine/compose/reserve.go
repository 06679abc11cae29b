package compose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// needOf is what the VM takes of its host.
func needOf(s engine.VMSpec) engine.Need {
	n := engine.Need{
		Cores:     max(int64(s.Cores), int64(len(s.PinnedCores))),
		MemoryMiB: s.MemoryMiB, DiskBytes: map[string]int64{},
	}
	if s.HugePages {
		n.HugePagesMiB = s.MemoryMiB
	}
	for _, d := range s.Disks {
		n.DiskBytes[d.Pool] += d.SizeGB * 1e9
	}
	return n
}

// hostCandidate is the host as the inventory shows it.
func hostCandidate(h engine.VMHost) engine.Candidate {
	c := engine.Candidate{HostKey: h.HostKey, Zone: h.Zone, Free: engine.Need{
		Cores: h.Cores.FreeAtRatio(h.CPUOvercommit), MemoryMiB: h.MemoryMiB.FreeAtRatio(h.MemoryOvercommit), HugePagesMiB: math.MaxInt64,
		DiskBytes: map[string]int64{},
	}}
	if h.HasHugePages() { // if unknown, only its LXD can refuse the VM
		c.Free.HugePagesMiB = h.HugePagesMiB.FreeAtRatio(1)
	}
	for _, p := range h.StoragePools {
		c.Free.DiskBytes[p.Name] = p.AvailableBytes
		if p.Default {
			c.DefaultPool = p.Name
		}
	}
	if c.DefaultPool == "" {
		c.Free.DiskBytes[""] = math.MaxInt64 // no default pool known: MAAS decides
	}
	return c
}

// reservation asks for room on one of the sites.
func (s Sites) reservation(key engine.Key, want engine.VMSpec) engine.Reservation {
	return engine.Reservation{
		Key: key, Name: want.Name, Group: want.Placement.Group, Need: needOf(want),
		Candidates: s.candidates, Inventory: s.hosts[0].Inventory,
	}
}

// handleReservationError returns why there is no reservation. If others' reservations take the
// room, only a newer inventory can show that they no longer do.
func (mk *Maker) handleReservationError(ctx context.Context, want engine.VMSpec, err error) error {
	if errors.Is(err, engine.ErrBusy) {
		mk.sweepLedger(ctx)
		mk.Names.Refresh(engine.ListHosts)
	}
	return fmt.Errorf("cannot reserve room for %s: %w", want.Name, err)
}

// boundRowOf is the row of a machine that a look found to be the key's.
func (mk *Maker) boundRowOf(ctx context.Context, key engine.Key, group string, m engine.Machine) (engine.Row, error) {
	host, err := mk.HostOf(ctx, m)
	if err != nil {
		return engine.Row{}, err
	}
	row := engine.Row{
		Key: key, Name: m.Hostname, HostKey: host.HostKey, Zone: m.Zone, Group: group, SystemID: m.SystemID,
		Need: engine.Need{Cores: int64(m.Cores), MemoryMiB: m.MemoryMiB, DiskBytes: map[string]int64{}},
	}
	if m.HugePages {
		row.Need.HugePagesMiB = m.MemoryMiB
	}
	for _, d := range m.Disks {
		row.Need.DiskBytes[d.Pool] += d.SizeGB * 1e9
	}
	return row, nil
}

// HasSize tells whether a VM has the wanted size.
func HasSize(s engine.VMSpec, have engine.Machine) bool {
	sizes := slices.EqualFunc(s.Disks, have.Disks, func(want engine.Disk, have engine.MachineDisk) bool { return want.SizeGB == have.SizeGB })
	return sizes && needOf(s).Cores == int64(have.Cores) && s.MemoryMiB == have.MemoryMiB
}
