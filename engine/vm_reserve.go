package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// need is what the VM takes of its host.
func (s VMSpec) need() Need {
	n := Need{
		Cores:     max(int64(s.Cores), int64(len(s.PinnedCores))),
		MemoryMiB: s.MemoryMiB, DiskBytes: map[string]int64{},
	}
	for _, d := range s.Disks {
		n.DiskBytes[d.Pool] += d.SizeGB * 1e9
	}
	return n
}

// candidate is the host as the inventory shows it.
func (h VMHost) candidate() Candidate {
	c := Candidate{HostKey: h.HostKey, Zone: h.Zone, Free: Need{
		Cores: h.Cores.left(h.CPUOvercommit), MemoryMiB: h.MemoryMiB.left(h.MemoryOvercommit), DiskBytes: map[string]int64{},
	}}
	for _, p := range h.StoragePools {
		c.Free.DiskBytes[p.Name] = p.AvailableBytes
		if p.Default {
			c.DefaultPool = p.Name
		}
	}
	if c.DefaultPool == "" {
		c.Free.DiskBytes[""] = math.MaxInt64 // no default known: MAAS decides
	}
	return c
}

// reservation asks for room on one of the sites.
func (s sites) reservation(key Key, want VMSpec) Reservation {
	return Reservation{
		Key: key, Name: want.Name, Group: want.Placement.Group, Need: want.need(),
		Candidates: s.candidates, Inventory: s.hosts[0].Inventory,
	}
}

// unreserved passes on why there is no reservation. Where others' reservations
// are in the way, only a newer inventory can show that they are not any more.
func (v *vms) unreserved(ctx context.Context, want VMSpec, err error) error {
	if errors.Is(err, ErrBusy) {
		v.sweep(ctx)
		v.Names.Refresh(ListHosts)
	}
	return fmt.Errorf("cannot reserve room for %s: %w", want.Name, err)
}

// boundTo is the row of a machine that was found to be the key's.
func (v *vms) boundTo(ctx context.Context, key Key, group string, m Machine) (Row, error) {
	host, err := v.hostOf(ctx, m)
	if err != nil {
		return Row{}, err
	}
	row := Row{
		Key: key, Name: m.Hostname, HostKey: host.HostKey, Zone: m.Zone, Group: group, SystemID: m.SystemID,
		Need: Need{Cores: int64(m.Cores), MemoryMiB: m.MemoryMiB, DiskBytes: map[string]int64{}},
	}
	for _, d := range m.Disks {
		row.Need.DiskBytes[d.Pool] += d.SizeGB * 1e9
	}
	return row, nil
}
