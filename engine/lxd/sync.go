package lxd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// SyncHost implements engine.Composer. It looks at the machines that this process has
// placed on the host or located there. If the instance of such a machine is gone, it
// deletes the machine in MAAS. It adopts nothing, and changes no machine of another owner.
//
// It fails if an LXD does not show its instances, because an instance may have moved there.
// It also fails if an instance has moved, because MAAS still asks the former host.
//
// A host that has just not answered is not asked again for a while. Otherwise each VM on it
// would wait for it, one after the other.
func (c *Composer) SyncHost(ctx context.Context, host engine.VMHost, systemID string) error {
	placed := map[string]location{}
	c.knownLocations.Range(func(id, value any) bool {
		at, meant := value.(location), systemID == "" || systemID == id
		if meant && at.server.MachineID == host.MachineID {
			placed[id.(string)] = at
		}
		return true
	})
	if len(placed) == 0 {
		return nil
	}
	if err := c.cache.recentFailure(host, c.Now()); err != nil {
		return err
	}
	c.cache.expireAll(c.Now())
	all, err := c.currentInventory(ctx)
	if err != nil {
		return err
	}
	h, err := all.surveyOf(host)
	if err != nil {
		return err
	}
	var failures []error
	for systemID, at := range placed {
		failures = append(failures, c.syncInstance(ctx, systemID, at, h, all))
	}
	return errors.Join(failures...)
}

// syncInstance finds out where the instance of one machine is, and acts on it.
func (c *Composer) syncInstance(ctx context.Context, systemID string, at location, h serverSurvey, all *inventory) error {
	places := all.findLocations(at.macs)
	switch {
	case slices.ContainsFunc(places, at.isSameInstance):
		return checkPowerLocation(ctx, c, systemID, at)
	case at.hasMovedTo(places):
		return checkPowerLocation(ctx, c, systemID, places[0])
	case len(places) > 0:
		return possibleCopiesError(at, places)
	case h.hasInstance(at):
		return nil
	}
	return c.dismissGoneMachine(ctx, systemID, at, h, all)
}

// hasInstance reports whether the server has an instance of that name.
func (h serverSurvey) hasInstance(at location) bool {
	return slices.ContainsFunc(h.instances, func(i instance) bool {
		return i.project == at.server.Project && i.name == at.instance
	})
}

// checkPowerLocation reports an instance that MAAS looks for on the wrong host. MAAS cannot
// be corrected: it would then look for all VMs of the former host there.
func checkPowerLocation(ctx context.Context, c *Composer, systemID string, at location) error {
	m, err := c.Machines.Machine(ctx, systemID)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	case m.PowerState != powerStateError:
		return nil
	}
	return checkMovedByHand(ctx, c, m, at)
}

// checkMovedByHand asks MAAS where it looks for the instance of a machine, and refuses a machine
// whose instance is elsewhere.
func checkMovedByHand(ctx context.Context, c *Composer, m engine.Machine, at location) error {
	power, err := c.Enlister.PowerInstanceOf(ctx, m.SystemID)
	if err != nil {
		return err
	}
	believed, err := c.locateByPower(ctx, m, power)
	if err != nil || believed.isSameInstance(at) {
		return err
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the instance of %s was moved by hand: it is %s on host %s, and MAAS looks for %s on host %s",
			m.Hostname, at.instance, at.server.Name, believed.instance, believed.server.Name),
		Hint: "Move it back (lxc move). You cannot correct MAAS instead: it would look on the new host for all VMs of the former host.", Err: engine.ErrConflict,
	}
}

// powerStateError is the power state of a machine whose LXD did not answer MAAS.
const powerStateError = "error"

// dismissGoneMachine deletes the machine of an instance that is gone.
func (c *Composer) dismissGoneMachine(ctx context.Context, systemID string, at location, h serverSurvey, all *inventory) error {
	if err := all.mayBeElsewhereError(at.instance); err != nil {
		return err
	}
	if !slices.Contains(h.projects, at.server.Project) {
		return fmt.Errorf("cannot tell whether the instance %s is there: the certificate may no longer see project %s: %w",
			at.instance, at.server.Project, engine.ErrForbidden)
	}
	if err := c.Enlister.DeleteMachineRecord(ctx, systemID); err != nil {
		return fmt.Errorf("the instance %s is gone, but MAAS keeps its machine: %w", at.instance, err)
	}
	c.knownLocations.Delete(systemID)
	c.Log.InfoContext(ctx, "removed the machine of an instance that is gone", "name", at.instance, "host", at.server.Name, "system_id", systemID)
	return nil
}
