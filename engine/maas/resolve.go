package maas

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// resolve looks up the numbers of what the composition names.
func (c *Hosts) resolve(ctx context.Context, comp engine.Composition) (ids composeIDs, err error) {
	if ids.zone, err = idOf(ctx, c.names.zones, "zone", comp.Zone); err != nil {
		return ids, err
	}
	if ids.pool, err = idOf(ctx, c.names.pools, "resource pool", comp.Pool); err != nil {
		return ids, err
	}
	ids.domain, err = idOf(ctx, c.names.domains, "domain", comp.Domain)
	return ids, err
}

// idOf returns the number of a zone, pool or domain, empty for no name. It
// looks once more in a fresh list before it finds nothing.
func idOf(ctx context.Context, list *share.Cached[[]named], what, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	for _, read := range []func(context.Context) ([]named, error){list.Get, list.Reread} {
		all, err := read(ctx)
		if err != nil {
			return "", fmt.Errorf("cannot look up %s %s: %w", what, name, err)
		}
		if i := slices.IndexFunc(all, func(n named) bool { return n.Name == name }); i >= 0 {
			return strconv.Itoa(all[i].ID), nil
		}
	}
	return "", engine.Terminal(fmt.Errorf("MAAS has no %s %q: %w", what, name, engine.ErrNotFound))
}
