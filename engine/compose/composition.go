package compose

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

// compose makes the VM on a host and reads it.
func (a *Attempt) compose(ctx context.Context, host engine.VMHost) (engine.Machine, error) {
	unlock, err := a.region.Locks.Share(ctx, host)
	if err != nil {
		return engine.Machine{}, err
	}
	defer unlock()
	c, err := a.composition(ctx, host)
	if err != nil {
		return engine.Machine{}, err
	}
	c.Left = func(what string) { a.leftovers.note(a.key, what) }
	// Only from now on can MAAS be at it: the row has waited for others so far.
	row := a.row
	c.Begin = func(ctx context.Context) error {
		a.region.NoteSent(row.Token, a.ComposeWindow)
		return a.Ledger.Renew(ctx, row)
	}
	ctx, cancel := engine.WithGrace(ctx)
	defer cancel()
	systemID, err := a.Composer.Compose(ctx, host, c)
	if err != nil {
		return engine.Machine{}, err
	}
	m, err := a.Machines.Machine(ctx, systemID)
	if err != nil {
		// The VM is there; the next look finds it by its marker.
		return engine.Machine{}, fmt.Errorf("cannot read the VM %s just composed: %w: %w", systemID, engine.ErrUnclear, err)
	}
	return m, nil
}

// composition is what to ask of the Composer.
func (a *Attempt) composition(ctx context.Context, host engine.VMHost) (engine.Composition, error) {
	want := a.want
	c := engine.Composition{
		Hostname: a.madeAs(), Cores: want.Cores, PinnedCores: want.PinnedCores,
		MemoryMiB: want.MemoryMiB, HugePages: want.HugePages,
		Profile: want.Profile, Disks: want.Disks,
		Zone: want.Zone, Pool: want.Pool, Domain: want.Domain,
		Marker: engine.MarkerOf(a.key), Key: a.key, Description: engine.DescriptionWithMark("", a.key, false),
	}
	if len(host.Architectures) > 0 {
		c.Architecture = host.Architectures[0]
	}
	// MAAS would put the VM into its default zone, wherever the host stands.
	if c.Zone == "" {
		c.Zone = host.Zone
	}
	if c.Pool == "" {
		c.Pool = host.Pool
	}
	for _, i := range want.Interfaces {
		subnet, err := a.FindSubnet(ctx, "interfaces."+i.Name, i.Subnet)
		if err != nil {
			return c, err
		}
		c.Interfaces = append(c.Interfaces, subnet)
	}
	return c, nil
}
