package maas

import (
	"context"
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
	return found[0], nil
}

// MachinesNamed implements engine.Machines. MAAS compares the short name,
// letter by letter.
func (c *Client) MachinesNamed(ctx context.Context, hostname string) ([]engine.Machine, error) {
	return c.byName.read(ctx, hostname)
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
	var listed []wireMachine
	if err := c.list(ctx, r, &listed); err != nil {
		return nil, err
	}
	found := map[string][]engine.Machine{}
	for _, wire := range listed {
		m := wire.machine()
		c.poller.pace.saw(m.SystemID, m.Status.Phase())
		found[key(m)] = append(found[key(m)], m)
	}
	return found, nil
}
