package maas

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/maaslxd/maaslxd/engine"
)

// Machine implements engine.Machines. What the poller has just seen serves
// those whom it woke.
func (c *Client) Machine(ctx context.Context, systemID string) (engine.Machine, error) {
	found, ok := c.looks.take(systemID)
	if !ok {
		var err error
		if found, err = c.byID.read(ctx, systemID); err != nil {
			return engine.Machine{}, err
		}
	}
	if len(found) == 0 {
		return engine.Machine{}, fmt.Errorf("MAAS has no machine %s: %w", systemID, engine.ErrNotFound)
	}
	return found[0], found[0].Err
}

// MachinesNamed implements engine.Machines. MAAS compares the short name,
// letter by letter.
func (c *Client) MachinesNamed(ctx context.Context, hostname string) ([]engine.Machine, error) {
	found, err := c.byName.read(ctx, hostname)
	for _, m := range found {
		err = errors.Join(err, m.Err)
	}
	return found, err
}

func (c *Client) fetchByID(ctx context.Context, ids []string) (map[string][]engine.Machine, error) {
	return c.machines(ctx, "id", ids, func(m engine.Machine) string { return m.SystemID })
}

func (c *Client) fetchByName(ctx context.Context, names []string) (map[string][]engine.Machine, error) {
	return c.machines(ctx, "hostname", names, func(m engine.Machine) string { return m.Hostname })
}

// machines lists the machines that match the filter, by key. MAAS leaves out
// what it does not have.
func (c *Client) machines(
	ctx context.Context, filter string, values []string, key func(engine.Machine) string,
) (map[string][]engine.Machine, error) {
	r := get("machines/")
	r.query = url.Values{filter: values}
	listed, err := c.listMachines(ctx, r)
	if err != nil {
		return nil, err
	}
	found := map[string][]engine.Machine{}
	for _, m := range listed {
		c.poller.pace.saw(m.SystemID, m.Status.Phase())
		found[key(m)] = append(found[key(m)], m)
	}
	return found, nil
}

// listMachines reads a list of machines. One that cannot be read as a whole says so
// in its Err; one that does not even say which machine it is spoils the list, for
// it may be any.
func (c *Client) listMachines(ctx context.Context, r *request) ([]engine.Machine, error) {
	var listed elements[wireMachine]
	if err := c.list(ctx, r, &listed); err != nil {
		return nil, err
	}
	machines := make([]engine.Machine, len(listed.list))
	for n, wire := range listed.list {
		machines[n] = wire.machine()
		why, odd := listed.odd[n]
		switch {
		case wire.SystemID == "" || odd && wire.Hostname == "":
			return nil, unreadable(r, "it does not say which machine it is about")
		case odd:
			machines[n].Err = unreadable(r, fmt.Sprintf("machine %s (%s): %v", wire.Hostname, wire.SystemID, why))
		}
	}
	return machines, nil
}
