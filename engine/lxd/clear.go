package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// Clear implements engine.Composer. Removed are instances with the mark that are
// surely ours and never ran, and volumes on the hosts that are named, unless MAAS
// has a machine of them. The hosts are asked anew, together by those who clear at
// the same moment; one that has just not answered is not asked again for a while.
func (c *Composer) Clear(ctx context.Context, r engine.Remains) error {
	c.fleet.expire(c.Now(), rereadAfter)
	all, err := c.inventory(ctx)
	if err != nil {
		return err
	}
	var failures []error
	for _, m := range all.find(nil, r.Marker) {
		failures = append(failures, c.clearInstance(ctx, m, r))
	}
	for _, h := range all.hosts {
		if h.err == nil && slices.Contains(r.HostKeys, h.MachineID) {
			failures = append(failures, c.clearVolumes(ctx, h, r))
		}
	}
	failures = append(failures, all.untold(r))
	return errors.Join(failures...)
}

// untold says which of the hosts that matter do not say what they hold.
func (i *inventory) untold(r engine.Remains) error {
	return i.silentAmong(func(h seen) bool { return slices.Contains(r.HostKeys, h.MachineID) }, func(hosts string) string {
		return fmt.Sprintf("something of %s, which was begun there, may be left on %s, whose LXD does not say what it has", r.Name, hosts)
	})
}

// clearInstance removes an instance that has our mark, if nobody can miss it.
func (c *Composer) clearInstance(ctx context.Context, m match, r engine.Remains) error {
	left, err := c.leftAlone(ctx, m, r.Name)
	switch {
	case err != nil:
		return err
	case left != "":
		c.Log.InfoContext(ctx, "left alone what has our mark", "name", m.instance.name, "host", m.host.Name, "why", left)
		return nil
	case m.instance.born.After(r.Before):
		return fmt.Errorf("the instance %s on host %s may still be in the making: %w", m.instance.name, m.host.Name, engine.ErrBusy)
	}
	return c.removeUnfinished(ctx, m)
}

// leftAlone says why an instance that has our mark is not to be removed; empty: it
// is ours, nothing ever ran on it, and MAAS does not know it. A *Refusal for one
// that is, or was, the VM itself, and has no machine any more.
func (c *Composer) leftAlone(ctx context.Context, m match, name string) (why string, err error) {
	machines, err := c.Enlister.Enlisted(ctx, m.instance.macs...)
	switch {
	case err != nil:
		return "", err
	case len(machines) > 0:
		return "MAAS has a machine of it", nil
	case m.instance.unfinished():
		return "", nil
	case m.instance.ran() && (!m.instance.born.IsZero() || m.instance.name == name):
		return "", m.instance.stands(m.host.Name)
	}
	return "it was not made by this program, and may be a copy", nil
}

// removeUnfinished removes an instance with its volumes, unless it has been
// started, or is another one by now. An absent one is no error.
func (c *Composer) removeUnfinished(ctx context.Context, m match) error {
	at := m.place()
	s, done, err := c.open(ctx, at.server, c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	defer c.fleet.drop(at.server.MachineID)
	var have api.Instance
	_, err = s.get(s.at("instances", at.instance), &have)
	now := instanceOf(have, at.server.Project)
	switch {
	case isStatus(err, http.StatusNotFound):
		return nil
	case err == nil && (!now.unfinished() || now.marker != m.instance.marker):
		return fmt.Errorf("the instance %s on host %s is another one by now: %w", at.instance, at.server.Name, engine.ErrBusy)
	case err == nil:
		err = s.remove(at.instance, at.macs, m.instance.marker)
	}
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return named(s.explain(err), at.server.Name)
	}
	c.Log.InfoContext(ctx, "removed what an earlier attempt left", "name", at.instance, "host", at.server.Name)
	return nil
}

// clearVolumes removes the volumes that were made for an instance which never came
// to be.
func (c *Composer) clearVolumes(ctx context.Context, h seen, r engine.Remains) error {
	s, done, err := c.open(ctx, h.Server, c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	for _, pool := range h.poolNames() {
		if !slices.Contains(r.Pools, pool) {
			continue
		}
		var volumes []api.StorageVolume
		_, err := s.get(s.in(url.Values{"recursion": {"1"}}, "storage-pools", pool, "volumes", "custom"), &volumes)
		if err != nil && !isStatus(err, http.StatusNotFound) {
			return named(s.explain(err), h.Name)
		}
		for _, v := range volumes {
			ours := v.Config[markerConfig] == r.Marker && strings.HasPrefix(v.Name, volumeName(r.Name, "disk"))
			if !ours || len(v.UsedBy) > 0 || bornAt(v.Config[volumeBornConfig]).After(r.Before) {
				continue
			}
			if err := s.dropVolumes([]volume{{pool: pool, name: v.Name}}); err != nil {
				return named(err, h.Name)
			}
			c.Log.InfoContext(ctx, "removed a volume that an earlier attempt left", "name", v.Name, "pool", pool, "host", h.Name)
		}
	}
	return nil
}

// bornNow is the time that is written into what is made.
func bornNow(now time.Time) string { return now.UTC().Truncate(time.Second).Format(time.RFC3339) }

// bornAt reads it; the zero time for what says none.
func bornAt(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// ran tells that something may be on the disks.
func (i instance) ran() bool { return i.everStarted || i.status != api.Stopped }

// unfinished tells that the instance is surely one that this program made, and no
// copy of it, and that nothing ever ran on it.
func (i instance) unfinished() bool { return !i.born.IsZero() && !i.ran() }

// stands is the refusal to take or to remove an instance of ours that nobody
// began just now.
func (i instance) stands(host string) error {
	why := "may be a copy of it, as it lacks what only the one that was made has"
	switch {
	case i.status != api.Stopped:
		why = fmt.Sprintf("runs (%s)", i.status)
	case i.everStarted:
		why = "has run"
	}
	return &engine.Refusal{
		Everywhere: true, Err: engine.ErrConflict,
		Message: fmt.Sprintf("the instance %s of project %s on host %s was made for this VM before, and %s, and MAAS shows no machine of it any more", i.name, i.project, host, why),
		Hint: fmt.Sprintf("If nobody needs it, delete it there (lxc delete %s --project %s). If it is to stay, give it another name, "+
			"and take the mark off it (lxc config unset %s %s --project %s). Then try again.", i.name, i.project, i.name, markerConfig, i.project),
	}
}
