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
	ids, err := c.resolveIDs(ctx, comp)
	if err != nil {
		return "", err
	}
	if err := c.tags.ensureTags(ctx, host.Tags); err != nil {
		return "", fmt.Errorf("cannot give MAAS the tags of VM host %s: %w", host.Name, err)
	}
	r := api.NewPost("compose", hostRoute, strconv.Itoa(host.ID))
	r.Form = composeForm(comp, ids)
	r.NoRetry, r.Slow, r.Begin = true, true, comp.BeforeSend
	defer c.list.Drop()
	var made struct {
		SystemID string `json:"system_id"`
	}
	if err := c.api.Call(ctx, r, &made); err != nil {
		return "", composeError(err)
	}
	if made.SystemID == "" {
		e := api.NewError(r, http.StatusOK, "MAAS did not say which machine it made")
		e.Unclear = true
		return "", e
	}
	return made.SystemID, nil
}

// composeError sorts LXD's own refusals out of MAAS's 503, which also says that
// a rack controller or an LXD is away. What LXD refused it refuses again, and MAAS
// has made the volumes of the data disks by then, once for each repeat
// (provisioningserver/drivers/pod/lxd.py, compose). Only words tell the two apart:
// words that are not known here count as a 503 that passes, as before.
func composeError(err error) error {
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
	if err := c.machines.writeMachine(ctx, systemID, r, nil); !isNotFound(err) {
		return err
	}
	return nil
}

// RemoveLeftovers implements engine.Composer: what MAAS left it alone can show.
func (*Hosts) RemoveLeftovers(context.Context, engine.Leftovers) error { return nil }

// SyncHost implements engine.Composer. MAAS looks at all VMs of the host.
func (c *Hosts) SyncHost(ctx context.Context, host engine.VMHost, _ string) error {
	r := api.NewPost("refresh", hostRoute, strconv.Itoa(host.ID))
	r.Slow = true
	defer c.list.Drop()
	return c.api.Call(ctx, r, nil)
}

// resolveIDs looks up the numbers of what the composition names.
func (c *Hosts) resolveIDs(ctx context.Context, comp engine.Composition) (ids composeIDs, err error) {
	if ids.zone, err = lookUpID(ctx, c.names.zones, "zone", comp.Zone); err != nil {
		return ids, err
	}
	if ids.pool, err = lookUpID(ctx, c.names.pools, "resource pool", comp.Pool); err != nil {
		return ids, err
	}
	ids.domain, err = lookUpID(ctx, c.names.domains, "domain", comp.Domain)
	return ids, err
}

// lookUpID returns the number of a zone, pool or domain, empty for no name. It
// looks once more in a fresh list before it finds nothing.
func lookUpID(ctx context.Context, list *share.Cached[[]wireNamed], what, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	for _, read := range []func(context.Context) ([]wireNamed, error){list.Get, list.Reread} {
		all, err := read(ctx)
		if err != nil {
			return "", fmt.Errorf("cannot look up %s %s: %w", what, name, err)
		}
		if i := slices.IndexFunc(all, func(n wireNamed) bool { return n.Name == name }); i >= 0 {
			return strconv.Itoa(all[i].ID), nil
		}
	}
	return "", engine.MarkTerminal(fmt.Errorf("MAAS has no %s %q: %w", what, name, engine.ErrNotFound))
}
