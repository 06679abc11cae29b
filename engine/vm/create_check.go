package vm

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
)

// check looks in MAAS for everything that the spec names, before anything is
// made, and returns where the VM may go.
func (v *checks) check(ctx context.Context, key engine.Key, want engine.VMSpec) (compose.Sites, error) {
	if err := v.CheckMayCompose(ctx); err != nil {
		return compose.Sites{}, err
	}
	for _, check := range []func() error{
		func() error { return v.checkNames(ctx, want) },
		func() error { return v.checkInterfaces(ctx, want.Interfaces) },
		func() error { return v.CheckImage(ctx, want.Deploy) },
		func() error { return v.checkAddresses(ctx, key, want) },
	} {
		if err := check(); err != nil {
			return compose.Sites{}, err
		}
	}
	return v.maker.FindSites(ctx, key, want, nil)
}

func (v *checks) checkNames(ctx context.Context, want engine.VMSpec) error {
	for _, n := range v.namesOf(want) {
		if err := engine.CheckName(ctx, v.Names, n.field, n.kind, n.name, n.list); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is a name in a spec, with the list of MAAS's that it must be in.
type nameOf struct {
	field, kind, name string
	list              func(context.Context) ([]string, error)
}

func (v *checks) namesOf(want engine.VMSpec) []nameOf {
	return []nameOf{
		{"placement.zone", "zone", want.Placement.Zone, v.Names.Zones},
		{"placement.pool", "resource pool", want.Placement.Pool, v.Names.Pools},
		{"zone", "zone", want.Zone, v.Names.Zones},
		{"pool", "resource pool", want.Pool, v.Names.Pools},
		{"domain", "domain", want.Domain, v.Names.Domains},
	}
}

func (v *checks) checkInterfaces(ctx context.Context, interfaces []engine.Interface) error {
	for n, i := range interfaces {
		links, err := v.findLinks(ctx, i)
		if err != nil {
			return err
		}
		if n == 0 {
			if err := links[0].subnet.CheckDHCP("interfaces." + i.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
