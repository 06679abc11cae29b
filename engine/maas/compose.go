package maas

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// Compose implements engine.Composer. The VM is never commissioned by it: the
// marker on its root disk lasts until commissioning ends. Fixed addresses are
// not asked for either, as they do not survive commissioning; Machines.Link
// sets them later. For an unknown name nothing is sent.
func (c *Hosts) Compose(ctx context.Context, host engine.VMHost, comp engine.Composition) (string, error) {
	ids, err := c.resolve(ctx, comp)
	if err != nil {
		return "", err
	}
	if err := c.tags.makeTags(ctx, host.Tags); err != nil {
		return "", fmt.Errorf("cannot give MAAS the tags of VM host %s: %w", host.Name, err)
	}
	r := api.Post("compose", hostRoute, strconv.Itoa(host.ID))
	r.Form = composeForm(comp, ids)
	r.Once, r.Slow, r.Begin = true, true, comp.Begin
	defer c.list.Drop()
	var made struct {
		SystemID string `json:"system_id"`
	}
	if err := c.api.Call(ctx, r, &made); err != nil {
		return "", composeRefused(err)
	}
	if made.SystemID == "" {
		e := api.NewError(r, http.StatusOK, "MAAS did not say which machine it made")
		e.Unclear = true
		return "", e
	}
	return made.SystemID, nil
}

// composeRefused sorts LXD's own refusals out of MAAS's 503, which also says that
// a rack controller or an LXD is away. What LXD refused it refuses again, and MAAS
// has made the volumes of the data disks by then, once for each repeat
// (provisioningserver/drivers/pod/lxd.py, compose). Only words tell the two apart:
// words that are not known here count as a 503 that passes, as before.
func composeRefused(err error) error {
	e, ok := api.AsError(err)
	if !ok || e.Status != http.StatusServiceUnavailable {
		return err
	}
	_, refused, fromLXD := strings.Cut(e.Message, "Failed talking to pod: ")
	switch {
	case !fromLXD:
		return err
	case strings.HasPrefix(refused, "Invalid "), strings.Contains(refused, "Cannot define "):
		e.Refuse(engine.ErrInvalid)
	case strings.HasPrefix(refused, "Failed creating instance record:") && strings.Contains(refused, "already exists"):
		e.Refuse(engine.ErrConflict)
	}
	return e
}

// Decompose implements engine.Composer. MAAS stops and deletes the instance
// before it answers.
func (c *Hosts) Decompose(ctx context.Context, systemID string) error {
	r := api.NewRequest(http.MethodDelete, machineRoute, systemID)
	r.Slow = true
	defer c.list.Drop()
	if err := c.machines.write(ctx, systemID, r, nil); !isMissing(err) {
		return err
	}
	return nil
}

// Clear implements engine.Composer: what MAAS left it alone can show.
func (*Hosts) Clear(context.Context, engine.Remains) error { return nil }

// Sync implements engine.Composer. MAAS looks at all VMs of the host.
func (c *Hosts) Sync(ctx context.Context, host engine.VMHost, _ string) error {
	r := api.Post("refresh", hostRoute, strconv.Itoa(host.ID))
	r.Slow = true
	defer c.list.Drop()
	return c.api.Call(ctx, r, nil)
}

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
