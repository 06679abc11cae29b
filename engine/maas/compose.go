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

// Compose implements engine.Composer. It never commissions the VM: the marker on its root
// disk lasts only until commissioning ends. It sets no fixed addresses, because they do not
// survive commissioning: Machines.SetInterfaceAddress sets them later. If the composition
// names an unknown zone, pool or domain, nothing is sent.
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

// composeError separates LXD's own refusals from MAAS's other 503s, which say that a rack
// controller or an LXD is away. LXD would refuse the same compose again, and each repeat
// leaves volumes of the data disks (provisioningserver/drivers/pod/lxd.py, compose).
//
// Only the text tells the two apart. An unknown text counts as a temporary 503.
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

// CheckInstanceReachable implements engine.Composer. Only MAAS reaches its instances.
func (*Hosts) CheckInstanceReachable(context.Context, engine.Machine) error { return nil }

// Decompose implements engine.Composer. MAAS stops and deletes the instance before it
// answers.
func (c *Hosts) Decompose(ctx context.Context, systemID string) error {
	r := api.NewRequest(http.MethodDelete, machineRoute, systemID)
	r.Slow = true
	defer c.list.Drop()
	if err := c.machines.writeMachine(ctx, systemID, r, nil); !isNotFound(err) {
		return err
	}
	return nil
}

// RemoveLeftovers implements engine.Composer. It does nothing: only MAAS knows what its
// composes left.
func (*Hosts) RemoveLeftovers(context.Context, engine.Leftovers) error { return nil }

// SyncHost implements engine.Composer. MAAS reads all VMs of the host.
func (c *Hosts) SyncHost(ctx context.Context, host engine.VMHost, _ string) error {
	r := api.NewPost("refresh", hostRoute, strconv.Itoa(host.ID))
	r.Slow = true
	defer c.list.Drop()
	return c.api.Call(ctx, r, nil)
}

// resolveIDs returns MAAS's numbers for the names in the composition.
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

// lookUpID returns the number of a zone, pool or domain; empty for an empty name. It reads
// the list again before it reports a missing name.
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
