package realmaas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Sweep removes from MAAS what belongs to a run, and returns what it removed.
// These are VMs by [Machine.BelongsTo]. They are also VM hosts, tags, zones,
// resource pools and domains whose names begin with the prefix. It never
// removes anything else.
//
// lent are the system ids of lent machines. It leaves them alone even with a
// name that has the prefix, because a story may have renamed one. An empty
// prefix is an error, as every name begins with it.
func (c *Client) Sweep(ctx context.Context, prefix string, lent ...string) (removed []string, err error) {
	if prefix == "" {
		return nil, errors.New("cannot sweep without a prefix")
	}
	removed, err = c.sweepMachines(ctx, prefix, lent)
	hosts, hostsErr := c.VMHosts(ctx)
	err = errors.Join(err, hostsErr)
	for _, h := range hosts {
		if strings.HasPrefix(h.Name, prefix) {
			err = errors.Join(err, c.deletePath(ctx, fmt.Sprintf("vm-hosts/%d/", h.ID)))
			removed = append(removed, "VM host "+h.Name)
		}
	}
	for _, kind := range []struct{ what, list, one string }{
		{"tag", "tags/", "tags/"}, {"zone", "zones/", "zones/"}, {"resource pool", "resourcepools/", ""}, {"domain", "domains/", ""},
	} {
		swept, sweepErr := c.sweepNamed(ctx, prefix, kind.what, kind.list, kind.one)
		removed, err = append(removed, swept...), errors.Join(err, sweepErr)
	}
	return removed, err
}

// sweepMachines removes VMs. An operator may have enlisted a machine without a
// VM host, so its power type must be LXD.
func (c *Client) sweepMachines(ctx context.Context, prefix string, lent []string) (removed []string, err error) {
	machines, err := c.Machines(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range machines {
		if slices.Contains(lent, m.SystemID) || !m.BelongsTo(prefix) || m.VMHost == nil && m.PowerType != "lxd" {
			continue
		}
		if m.Locked {
			err = errors.Join(err, c.Operate(ctx, m.SystemID, "unlock", nil))
		}
		err = errors.Join(err, c.deletePath(ctx, "machines/"+url.PathEscape(m.SystemID)+"/"))
		removed = append(removed, "machine "+m.Hostname)
	}
	return removed, err
}

// sweepNamed removes the objects of a list whose names begin with the prefix.
// Pools and domains are deleted by their number.
func (c *Client) sweepNamed(ctx context.Context, prefix, what, list, byName string) (removed []string, err error) {
	var all []struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	if err := c.GetJSON(ctx, list, &all); err != nil {
		return nil, err
	}
	for _, o := range all {
		if !strings.HasPrefix(o.Name, prefix) {
			continue
		}
		path := byName + url.PathEscape(o.Name) + "/"
		if byName == "" {
			path = fmt.Sprintf("%s%d/", map[string]string{"resourcepools/": "resourcepool/", "domains/": "domains/"}[list], o.ID)
		}
		err = errors.Join(err, c.deletePath(ctx, path))
		removed = append(removed, what+" "+o.Name)
	}
	return removed, err
}

// deletePath deletes the object at a path. It ignores that the object is gone
// already.
func (c *Client) deletePath(ctx context.Context, path string) error {
	if _, err := c.Send(ctx, http.MethodDelete, path, nil); err != nil && !IsGone(err) {
		return err
	}
	return nil
}
