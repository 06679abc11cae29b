package maas

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// Allocate implements engine.Metal. MAAS says that it has no such machine
// available whether it is absent or in another state; a look tells which.
func (c *Machines) Allocate(ctx context.Context, systemID, agent string) error {
	r := api.Post("allocate", "machines/").Put("system_id", systemID).Set("agent_name", agent)
	if systemID == "" {
		r.Refuse("system_id", "no machine is named, so that MAAS would choose or even make one", "Name the machine to allocate.")
	}
	err := c.allocate(ctx, systemID, r)
	if e, ok := api.AsError(err); !ok || e.Kind != engine.ErrConflict {
		return err
	}
	if _, absent := c.Machine(ctx, systemID); errors.Is(absent, engine.ErrNotFound) {
		return absent
	}
	return err
}

func (c *Machines) allocate(ctx context.Context, systemID string, r *api.Request) error {
	defer c.shared.Wrote(systemID)
	return c.api.List(ctx, r, nil)
}

// Annotate implements engine.Metal. MAAS keeps the parameter op to itself and
// drops it without a word (api/nodes.py, set_owner_data).
func (c *Machines) Annotate(ctx context.Context, systemID string, data map[string]string) error {
	r := api.Post("set_owner_data", machineRoute, systemID)
	for key, value := range data {
		if key == "" || key == "op" {
			r.Refuse("owner_data", fmt.Sprintf("MAAS stores nothing under the key %q", key), "Choose another key.")
		}
		r.Put(key, value)
	}
	if len(data) == 0 && r.Err == nil {
		return nil
	}
	return c.write(ctx, systemID, r, nil)
}

// CreateBridge implements engine.Metal.
func (c *Machines) CreateBridge(ctx context.Context, systemID string, interfaceID int, name string) error {
	r := api.Post("create_bridge", "nodes/{id}/interfaces/", systemID)
	r.Put("name", name).Put("parent", strconv.Itoa(interfaceID))
	r.Once = true
	if name == "" || len(name) > engine.MaxInterfaceName {
		r.Refuse("name", fmt.Sprintf("%q cannot name a bridge", name),
			fmt.Sprintf("Linux takes 1 to %d bytes: choose a name like br0.", engine.MaxInterfaceName))
	}
	return c.write(ctx, systemID, r, nil)
}
