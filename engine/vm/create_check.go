package vm

import (
	"context"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
	"github.com/maaslxd/maaslxd/engine/inplace"
)

// checkSpec looks in MAAS for everything that the spec names, before anything is made. It
// returns the sites where the VM may be made.
func (v *createChecks) checkSpec(ctx context.Context, key engine.Key, want engine.VMSpec) (compose.Sites, error) {
	if err := v.CheckMayCompose(ctx); err != nil {
		return compose.Sites{}, err
	}
	for _, check := range []func() error{
		func() error { return v.updater.CheckNames(ctx, v.namesOf(want)) },
		func() error { return v.checkInterfaces(ctx, want.Interfaces) },
		func() error { return v.CheckImage(ctx, want.Deploy) },
		func() error { return v.checkAddresses(ctx, key, want) },
	} {
		if err := check(); err != nil {
			return compose.Sites{}, err
		}
	}
	sites, err := v.maker.FindSites(ctx, key, want, nil)
	return sites, v.leavingRoomError(ctx, err)
}

// leavingRoomError adds engine.ErrRoomLeaving to an error about missing room while VMs are
// being deleted. For example, web-1 fills h1 and its release takes a minute. The create of
// web-2 beside it waits, and would give up after some seconds without this.
func (v *createChecks) leavingRoomError(ctx context.Context, err error) error {
	if !engine.IsRoomMissing(err) || engine.IsTerminal(err) {
		return err
	}
	rows, rowsErr := v.Ledger.Rows(ctx)
	if rowsErr != nil || !slices.ContainsFunc(rows, func(r engine.Row) bool { return r.State == engine.RowLeaving }) {
		return err
	}
	return fmt.Errorf("%w; %w", err, engine.ErrRoomLeaving)
}

// namesOf are the names in the spec that MAAS must know.
func (v *createChecks) namesOf(want engine.VMSpec) []inplace.Name {
	return append([]inplace.Name{
		{Field: fieldpath.New("placement", "zone"), Kind: "zone", Text: want.Placement.Zone, List: v.Names.Zones},
		{Field: fieldpath.New("placement", "pool"), Kind: "resource pool", Text: want.Placement.Pool, List: v.Names.Pools},
	}, v.updater.NamesOf(want.InPlaceSettings())...)
}

func (v *createChecks) checkInterfaces(ctx context.Context, interfaces []engine.Interface) error {
	for n, i := range interfaces {
		links, err := v.resolveLinks(ctx, i)
		if err != nil {
			return err
		}
		if n == 0 {
			if err := links[0].subnet.CheckDHCP(fieldpath.New("interfaces").Key(i.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}
