package maas

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
)

// Allocate implements engine.Metal. MAAS says that it has no such machine
// available whether it is absent or in another state; a look tells which.
func (c *Client) Allocate(ctx context.Context, systemID, agent string) error {
	r := post("allocate", "machines/").put("system_id", systemID).set("agent_name", agent)
	if systemID == "" {
		r.refuse("system_id", "no machine is named, so that MAAS would choose or even make one", "Name the machine to allocate.")
	}
	err := c.allocate(ctx, systemID, r)
	if e, ok := asError(err); !ok || e.Kind != engine.ErrConflict {
		return err
	}
	if _, absent := c.Machine(ctx, systemID); errors.Is(absent, engine.ErrNotFound) {
		return absent
	}
	return err
}

func (c *Client) allocate(ctx context.Context, systemID string, r *request) error {
	defer c.looks.spoil(systemID)
	return c.list(ctx, r, nil)
}

// Annotate implements engine.Metal. MAAS keeps the parameter op to itself and
// drops it without a word (api/nodes.py, set_owner_data).
func (c *Client) Annotate(ctx context.Context, systemID string, data map[string]string) error {
	r := post("set_owner_data", machineRoute, systemID)
	for key, value := range data {
		if key == "" || key == "op" {
			r.refuse("owner_data", fmt.Sprintf("MAAS stores nothing under the key %q", key), "Choose another key.")
		}
		r.put(key, value)
	}
	if len(data) == 0 && r.err == nil {
		return nil
	}
	return c.write(ctx, systemID, r, nil)
}

// CreateBridge implements engine.Metal.
func (c *Client) CreateBridge(ctx context.Context, systemID string, interfaceID int, name string) error {
	r := post("create_bridge", "nodes/{id}/interfaces/", systemID)
	r.put("name", name).put("parent", strconv.Itoa(interfaceID))
	r.once = true
	if name == "" || len(name) > engine.MaxInterfaceName {
		r.refuse("name", fmt.Sprintf("%q cannot name a bridge", name),
			fmt.Sprintf("Linux takes 1 to %d bytes: choose a name like br0.", engine.MaxInterfaceName))
	}
	return c.write(ctx, systemID, r, nil)
}
