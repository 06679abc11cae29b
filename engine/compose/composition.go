package compose

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// composeVM makes the VM on a host and reads it.
func (a *Attempt) composeVM(ctx context.Context, host engine.VMHost) (engine.Machine, error) {
	unlock, err := a.region.Locks.LockShared(ctx, host)
	if err != nil {
		return engine.Machine{}, err
	}
	defer unlock()
	c, err := a.composition(ctx, host)
	if err != nil {
		return engine.Machine{}, err
	}
	c.ReportLeftover = func(what string) { a.leftovers.noteLeftover(a.key, what) }
	// Before this call MAAS cannot be composing: the row has waited for others so far.
	c.BeforeSend = a.renewBeforeSend(a.row)
	ctx, cancel := engine.WithGrace(ctx)
	defer cancel()
	systemID, err := a.Composer.Compose(ctx, host, c)
	if err != nil {
		return engine.Machine{}, err
	}
	m, err := a.Machines.Machine(ctx, systemID)
	if err != nil {
		// The VM exists; the next look finds it by its marker.
		return engine.Machine{}, fmt.Errorf("cannot read the VM %s just composed: %w: %w", systemID, engine.ErrUnclear, err)
	}
	return m, nil
}

// maxRenewDuration is how old a renewal may be when MAAS is asked. Other runs count the time of
// the compose from it, and their window is only a few seconds longer than MAAS takes.
const (
	maxRenewDuration = 2 * time.Second
	maxRenewTries    = 5
)

// renewBeforeSend notes that MAAS is asked from now on. A renewal with a late answer is made
// again. Otherwise MAAS might compose for longer than other runs wait. If the ledger cannot be
// reached, that is no fault of the host.
func (a *Attempt) renewBeforeSend(row engine.Row) func(context.Context) error {
	return func(ctx context.Context) error {
		for range maxRenewTries {
			asked := time.Now()
			a.region.NoteComposeSent(row.Token, a.ComposeWindow)
			switch err := a.Ledger.Renew(ctx, row); {
			case errors.Is(err, engine.ErrUnavailable):
				return fmt.Errorf("%w: %w", engine.ErrBusy, err)
			case err != nil:
				return err
			case time.Since(asked) < maxRenewDuration:
				return nil
			}
		}
		return fmt.Errorf("the ledger answers too late to compose %s: %w", row.Name, engine.ErrBusy)
	}
}

// composition is the request for the Composer.
func (a *Attempt) composition(ctx context.Context, host engine.VMHost) (engine.Composition, error) {
	want := a.want
	c := engine.Composition{
		Hostname: a.composeHostname(), Architecture: host.VMArchitecture(), Cores: want.Cores, PinnedCores: want.PinnedCores,
		MemoryMiB: want.MemoryMiB, HugePages: want.HugePages,
		Profile: want.Profile, Config: want.Config, Devices: want.Devices, Disks: want.Disks,
		Zone: want.Zone, Pool: want.Pool, Domain: want.Domain,
		Marker: engine.MarkerOf(a.key), Key: a.key, Description: engine.DescriptionWithMark("", a.key, false),
	}
	// Without a zone, MAAS would put the VM into its default zone, wherever the host is.
	if c.Zone == "" {
		c.Zone = host.Zone
	}
	if c.Pool == "" {
		c.Pool = host.Pool
	}
	for _, i := range want.Interfaces {
		subnet, err := a.FindNetwork(ctx, fieldpath.New("interfaces").Key(i.Name), i.Network())
		if err != nil {
			return c, err
		}
		c.Interfaces = append(c.Interfaces, engine.NIC{Subnet: subnet, Label: i.Name, Bridge: i.Bridge, MAC: i.MAC})
	}
	return c, nil
}
