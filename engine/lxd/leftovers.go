package lxd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// RemoveLeftovers implements engine.Composer. On the hosts that are named, it removes
// instances with the mark that are certainly ours and never ran. It also removes their
// volumes, unless MAAS has a machine of them.
//
// It asks the hosts again; callers at the same time share this read. A host that has just
// not answered is not asked again for a while.
func (c *Composer) RemoveLeftovers(ctx context.Context, r engine.Leftovers) error {
	c.cache.expire(c.Now(), rereadAfter)
	all, err := c.currentInventory(ctx)
	if err != nil {
		return err
	}
	var failures []error
	for _, m := range all.findInstances(nil, r.Marker) {
		failures = append(failures, c.cleaner.clearInstance(ctx, m, r))
	}
	for _, h := range all.hosts {
		if h.err == nil && slices.Contains(r.HostKeys, h.MachineID) {
			failures = append(failures, c.cleaner.clearVolumes(ctx, h, r))
		}
	}
	failures = append(failures, all.leftoversUnknownError(r))
	return errors.Join(failures...)
}

// leftoversUnknownError names the hosts of r that do not show what they hold.
func (i *inventory) leftoversUnknownError(r engine.Leftovers) error {
	return i.silentHostsError(func(h serverSurvey) bool { return slices.Contains(r.HostKeys, h.MachineID) }, func(hosts string) string {
		return fmt.Sprintf("%s may have an instance or volumes left on %s: its creation began there, and that LXD does not list its instances", r.Name, hosts)
	})
}

// cleaner removes what earlier attempts left.
type cleaner struct {
	*dialer
	enlister engine.Enlister
	cache    *inventoryCache
	timeout  time.Duration // of one read or removal
	log      *slog.Logger
}

// clearInstance removes an instance with our mark, if nobody can need it.
func (c *cleaner) clearInstance(ctx context.Context, m instanceMatch, r engine.Leftovers) error {
	left, err := c.reasonToKeep(ctx, m, r.Name)
	switch {
	case err != nil:
		return err
	case left != "":
		c.log.InfoContext(ctx, "kept an instance that has our mark", "name", m.instance.name, "host", m.host.Name, "why", left)
		return nil
	case m.instance.birthTime.After(r.BegunBefore):
		return fmt.Errorf("the instance %s on host %s may still be being made: %w", m.instance.name, m.host.Name, engine.ErrBusy)
	}
	return c.removeUnfinished(ctx, m)
}

// reasonToKeep returns why an instance with our mark must not be removed. It is empty if
// the instance is ours, never ran, and MAAS does not know it. The error is a *Refusal if
// the instance is or was the VM itself and has no machine any more.
func (c *cleaner) reasonToKeep(ctx context.Context, m instanceMatch, name string) (why string, err error) {
	machines, err := c.enlister.MachinesWithMACs(ctx, m.instance.macs...)
	switch {
	case err != nil:
		return "", err
	case len(machines) > 0:
		return "MAAS has a machine of it", nil
	case m.instance.isUnfinished():
		return "", nil
	case m.instance.hasRun() && (!m.instance.birthTime.IsZero() || m.instance.name == name):
		return "", m.instance.existingInstanceError(m.host.Name)
	}
	return "it was not made by this program, and may be a copy", nil
}

// removeUnfinished removes an instance with its volumes. It keeps it if the instance was
// started meanwhile, or is a different one now. An absent instance is no error.
func (c *cleaner) removeUnfinished(ctx context.Context, m instanceMatch) error {
	at := m.location()
	s, done, err := c.openSession(ctx, at.server, c.timeout)
	if err != nil {
		return err
	}
	defer done()
	defer c.cache.noteChange(at.server.MachineID)
	var have api.Instance
	_, err = s.get(s.projectPath("instances", at.instance), &have)
	now := newInstance(have, at.server.Project)
	switch {
	case isStatus(err, http.StatusNotFound):
		return nil
	case err == nil && (!now.isUnfinished() || now.marker != m.instance.marker):
		return fmt.Errorf("the instance %s on host %s is a different one now: %w", at.instance, at.server.Name, engine.ErrBusy)
	case err == nil:
		err = s.removeInstance(at.instance, at.macs, m.instance.marker)
	}
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return hostError(s.explainError(err), at.server.Name)
	}
	c.log.InfoContext(ctx, "removed what an earlier attempt left", "name", at.instance, "host", at.server.Name)
	return nil
}

// clearVolumes removes the volumes of an instance that was never made.
func (c *cleaner) clearVolumes(ctx context.Context, h serverSurvey, r engine.Leftovers) error {
	s, done, err := c.openSession(ctx, h.Server, c.timeout)
	if err != nil {
		return err
	}
	defer done()
	for _, pool := range h.poolNames() {
		if !slices.Contains(r.Pools, pool) {
			continue
		}
		var volumes []api.StorageVolume
		_, err := s.get(s.projectQuery(url.Values{"recursion": {"1"}}, "storage-pools", pool, "volumes", "custom"), &volumes)
		if err != nil && !isStatus(err, http.StatusNotFound) {
			return hostError(s.explainError(err), h.Name)
		}
		for _, v := range volumes {
			ours := v.Config[markerConfig] == r.Marker && strings.HasPrefix(v.Name, volumeName(r.Name, "disk"))
			if !ours || len(v.UsedBy) > 0 || parseBirthTime(v.Config[volumeBirthTimeConfig]).After(r.BegunBefore) {
				continue
			}
			if err := s.dropVolumes([]volume{{pool: pool, name: v.Name}}); err != nil {
				return hostError(err, h.Name)
			}
			c.log.InfoContext(ctx, "removed a volume that an earlier attempt left", "name", v.Name, "pool", pool, "host", h.Name)
		}
	}
	return nil
}

// listLeftovers lists what earlier attempts left on other hosts: instances with our marker
// that are certainly ours, never ran, and are unknown to MAAS.
//
// The error is a *Refusal if an instance is the VM itself without its machine: a second VM
// of this name would be made. A copy is only reported to comp.ReportLeftover.
func (c *cleaner) listLeftovers(ctx context.Context, all *inventory, chosen serverSurvey, comp engine.Composition) ([]instanceMatch, error) {
	var found []instanceMatch
	for _, m := range all.findInstances(nil, comp.Marker) {
		if m.host.MachineID == chosen.MachineID && m.instance.name == comp.Hostname {
			continue // it blocks the name, or Compose continues with it
		}
		left, err := c.reasonToKeep(ctx, m, comp.Hostname)
		refusal, refused := errors.AsType[*engine.Refusal](err)
		switch {
		case refused && c.isStillThere(ctx, m):
			return nil, refusal
		case err != nil: // gone, or unknown: it stays, as without this call
		case left == "":
			found = append(found, m)
		case comp.ReportLeftover != nil && m.instance.birthTime.IsZero():
			comp.ReportLeftover(fmt.Sprintf("the LXD of VM host %s holds an instance %s with the mark of this VM, which is not this VM, but perhaps a copy", m.host.Name, m.instance.name))
		}
	}
	return found, nil
}

// isStillThere reports whether an instance of a possibly old inventory still exists with
// its mark.
func (c *cleaner) isStillThere(ctx context.Context, m instanceMatch) bool {
	at := m.location()
	s, done, err := c.openSession(ctx, at.server, c.timeout)
	if err != nil {
		return true
	}
	defer done()
	var have api.Instance
	_, err = s.get(s.projectPath("instances", at.instance), &have)
	if err != nil {
		return !isStatus(err, http.StatusNotFound)
	}
	return have.Config[markerConfig] == m.instance.marker
}

// removeLeftovers removes what earlier attempts left. If that fails, the leftovers stay, as
// without this call.
func (c *cleaner) removeLeftovers(ctx context.Context, leftovers []instanceMatch) {
	for _, m := range leftovers {
		if err := c.removeUnfinished(ctx, m); err != nil {
			c.log.InfoContext(ctx, "cannot remove what an earlier attempt left", "name", m.instance.name, "host", m.host.Name, slog.Any("error", err))
		}
	}
}

// formatBirthTime formats the time that is written into new instances and volumes.
func formatBirthTime(now time.Time) string {
	return now.UTC().Truncate(time.Second).Format(time.RFC3339)
}

// parseBirthTime parses it; the zero time if there is none.
func parseBirthTime(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// hasRun reports whether something may be on the disks.
func (i instance) hasRun() bool { return i.everStarted || i.status != api.Stopped }

// isUnfinished reports whether the instance is certainly one that this program made, is no
// copy, and never ran.
func (i instance) isUnfinished() bool { return !i.birthTime.IsZero() && !i.hasRun() }

// existingInstanceError refuses to use or remove an older instance of ours.
func (i instance) existingInstanceError(host string) error {
	why := "may be a copy of it, as it lacks the key " + birthTimeConfig
	switch {
	case i.status != api.Stopped:
		why = fmt.Sprintf("runs (%s)", i.status)
	case i.everStarted:
		why = "has run"
	}
	return &engine.Refusal{
		Everywhere: true, Err: engine.ErrConflict,
		Message: fmt.Sprintf("the instance %s of project %s on host %s was made for this VM before, and %s, and MAAS no longer shows a machine of it", i.name, i.project, host, why),
		Hint: fmt.Sprintf("If nobody needs it, delete it there (lxc delete %s --project %s). If it is to stay, give it another name, "+
			"and remove its mark (lxc config unset %s %s --project %s). Then try again.", i.name, i.project, i.name, markerConfig, i.project),
	}
}
