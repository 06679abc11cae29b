package maas

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// Machines reads machines, moves them through MAAS's states, and allocates bare metal.
type Machines struct {
	switches
	api       *api.Client
	shared    *share.Machines
	tags      *Tags
	addresses *Addresses
	catalog   *Catalog
}

func newMachines(c Config, sender *api.Client) *Machines {
	m := &Machines{api: sender}
	m.switches = switches{m}
	m.shared = share.NewMachines(share.Config{
		ByID: m.fetchByID, ByName: m.fetchByName, ByHost: m.fetchByHost, MaxHosts: maxHostsPerQuery, HasOnlyRead: sender.HasOnlyRead,
		Limit: sender.SharedLimit(), Interval: c.Interval, Gather: c.Gather, Now: c.Now, Log: c.Log,
	})
	return m
}

// Machine implements engine.Machines.
func (c *Machines) Machine(ctx context.Context, systemID string) (engine.Machine, error) {
	found, err := c.shared.ByID(ctx, systemID)
	if err != nil {
		return engine.Machine{}, err
	}
	if len(found) == 0 {
		return engine.Machine{}, c.catalog.absentMachineError(ctx, systemID)
	}
	return found[0], found[0].Err
}

// AnnounceRead notes that this machine is read soon, so that its answer may be there when
// [Machines.Machine] asks. Without a walk of reads it does nothing.
func (c *Machines) AnnounceRead(ctx context.Context, systemID string) {
	c.shared.AnnounceByID(ctx, systemID)
}

// MachinesNamed implements engine.Machines. MAAS compares the short name exactly.
func (c *Machines) MachinesNamed(ctx context.Context, hostname string) ([]engine.Machine, error) {
	found, err := c.shared.ByName(ctx, hostname)
	for _, m := range found {
		err = errors.Join(err, m.Err)
	}
	return found, err
}

// WatchChange implements engine.Machines.
func (c *Machines) WatchChange(ctx context.Context, seen engine.Machine) <-chan struct{} {
	return c.shared.Watch(ctx, seen)
}

func (c *Machines) fetchByID(ctx context.Context, ids []string) (map[string][]engine.Machine, error) {
	return c.fetchMachines(ctx, "id", ids, func(m engine.Machine) string { return m.SystemID })
}

func (c *Machines) fetchByName(ctx context.Context, names []string) (map[string][]engine.Machine, error) {
	return c.fetchMachines(ctx, "hostname", names, func(m engine.Machine) string { return m.Hostname })
}

func (c *Machines) fetchByHost(ctx context.Context, names []string) (map[string][]engine.Machine, error) {
	machines, err := c.MachinesWhere(ctx, engine.MachineFilter{Hosts: names})
	if err != nil {
		return nil, err
	}
	found := map[string][]engine.Machine{}
	for _, m := range machines {
		found[m.HostName] = append(found[m.HostName], m)
	}
	return found, nil
}

// fetchMachines lists the machines that match the filter, by key. MAAS omits unknown
// values.
func (c *Machines) fetchMachines(
	ctx context.Context, filter string, values []string, key func(engine.Machine) string,
) (map[string][]engine.Machine, error) {
	r := api.NewGet("machines/")
	r.Query = url.Values{filter: values}
	listed, err := c.listMachines(ctx, r)
	if err != nil {
		return nil, err
	}
	found := map[string][]engine.Machine{}
	for _, m := range listed {
		c.shared.NotePhase(m)
		found[key(m)] = append(found[key(m)], m)
	}
	return found, nil
}

// listMachines reads a list of machines. A machine that cannot be read completely has an
// Err. If a machine has not even a readable id, the whole list fails: it may be any
// machine.
func (c *Machines) listMachines(ctx context.Context, r *api.Request) ([]engine.Machine, error) {
	var listed api.Elements[wireMachine]
	if err := c.api.List(ctx, r, &listed); err != nil {
		return nil, err
	}
	machines := make([]engine.Machine, len(listed.List))
	for n, wire := range listed.List {
		machines[n] = wire.machine()
		why, odd := listed.Unreadable[n]
		switch {
		case wire.SystemID == "" || odd && wire.Hostname == "":
			return nil, api.UnreadableError(r, "it does not say which machine it is about")
		case odd:
			machines[n].Err = api.UnreadableError(r, fmt.Sprintf("machine %s (%s): %v", wire.Hostname, wire.SystemID, why))
		}
	}
	return machines, nil
}

// writeMachine sends a request that changes a machine. Poll results from before the answer
// are no longer returned.
func (c *Machines) writeMachine(ctx context.Context, systemID string, r *api.Request, into any) error {
	defer c.shared.NoteWrite(systemID)
	return c.api.Call(ctx, r, into)
}
