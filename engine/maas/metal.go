package maas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// Allocate implements engine.Metal. MAAS gives the same answer for a machine that does not
// exist and one in another state. So Allocate reads the machine to decide.
func (c *Machines) Allocate(ctx context.Context, systemID, agent string) error {
	r := api.NewPost("allocate", "machines/").Put("system_id", systemID).Set("agent_name", agent)
	if systemID == "" {
		r.Refuse("system_id", "no machine is named, so that MAAS would choose or even make one", "Name the machine to allocate.")
	}
	err := allocateMachine(ctx, c, systemID, r)
	if e, ok := api.AsError(err); !ok || e.Kind != engine.ErrConflict {
		return err
	}
	if _, absent := c.Machine(ctx, systemID); errors.Is(absent, engine.ErrNotFound) {
		return absent
	}
	return err
}

func allocateMachine(ctx context.Context, c *Machines, systemID string, r *api.Request) error {
	defer c.shared.NoteWrite(systemID)
	return c.api.List(ctx, r, nil)
}

// Annotate implements engine.Metal. MAAS uses the parameter op itself and silently drops it
// (api/nodes.py, set_owner_data).
func (c *Machines) Annotate(ctx context.Context, systemID string, data map[string]string) error {
	r := api.NewPost("set_owner_data", machineRoute, systemID)
	for key, value := range data {
		if key == "" || key == "op" {
			r.Refuse("owner_data", fmt.Sprintf("MAAS stores nothing under the key %q", key), "Choose another key.")
		}
		r.Put(key, value)
	}
	if len(data) == 0 && r.Err == nil {
		return nil
	}
	return c.writeMachine(ctx, systemID, r, nil)
}

// SetStorageLayout implements engine.Metal. MAAS needs sizes in bytes and disks by number.
func (c *Machines) SetStorageLayout(ctx context.Context, m engine.Machine, l engine.StorageLayout) error {
	r := api.NewPost("set_storage_layout", machineRoute, m.SystemID).Set("storage_layout", l.Type).Set("cache_mode", l.CacheMode)
	if d, ok := m.Disk(l.RootDisk); ok {
		r.Put("root_device", strconv.Itoa(d.ID))
	}
	for parameter, size := range map[string]int64{"root_size": l.RootSizeGB, "lv_size": l.VolumeSizeGB} {
		if size > 0 {
			r.Put(parameter, strconv.FormatInt(size*bytesPerGB, 10))
		}
	}
	return c.writeMachine(ctx, m.SystemID, r, nil)
}

// CreateBridge implements engine.Metal.
func (c *Machines) CreateBridge(ctx context.Context, systemID string, interfaceID int, name string) error {
	r := api.NewPost("create_bridge", "nodes/{id}/interfaces/", systemID)
	r.Put("name", name).Put("parent", strconv.Itoa(interfaceID))
	r.NoRetry = true
	if name == "" || len(name) > engine.MaxInterfaceName {
		r.Refuse("name", fmt.Sprintf("%q cannot name a bridge", name),
			fmt.Sprintf("Linux takes 1 to %d bytes: choose a name like br0.", engine.MaxInterfaceName))
	}
	return c.writeMachine(ctx, systemID, r, nil)
}

// CreateChild implements engine.MachineNetwork.
func (c *Machines) CreateChild(ctx context.Context, systemID string, n engine.ChildInterfaceRequest) error {
	r := api.NewPost("create_"+string(n.Kind), "nodes/{id}/interfaces/", systemID)
	r.NoRetry = true
	parents := "parent"
	if n.Kind == engine.ChildBond {
		parents = "parents"
	}
	ids := make([]string, len(n.Parents))
	for i, id := range n.Parents {
		ids[i] = strconv.Itoa(id)
	}
	r.Put("name", n.Name).Put(parents, ids...)
	if n.VLAN != 0 {
		r.Put("vlan", strconv.Itoa(n.VLAN))
	}
	if n.MTU != 0 {
		r.Put("mtu", strconv.Itoa(n.MTU))
	}
	r.Set("bond_mode", n.Bond.Mode).Set("bond_lacp_rate", n.Bond.LACPRate).Set("bond_xmit_hash_policy", n.Bond.HashPolicy)
	if n.Name == "" || len(n.Name) > engine.MaxInterfaceName {
		r.Refuse("name", fmt.Sprintf("%q cannot name an interface", n.Name),
			fmt.Sprintf("Linux takes 1 to %d bytes: choose a name like bond0.", engine.MaxInterfaceName))
	}
	return c.writeMachine(ctx, systemID, r, nil)
}

const interfaceRoute = "nodes/{id}/interfaces/{id}/"

// DeleteInterface implements engine.MachineNetwork.
func (c *Machines) DeleteInterface(ctx context.Context, systemID string, interfaceID int) error {
	err := c.writeMachine(ctx, systemID, api.NewRequest(http.MethodDelete, interfaceRoute, systemID, strconv.Itoa(interfaceID)), nil)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return err
}

// SetMTU implements engine.MachineNetwork. An empty MTU removes the interface's own
// (forms/interface.py, _set_param).
func (c *Machines) SetMTU(ctx context.Context, systemID string, interfaceID, mtu int) error {
	text := ""
	if mtu != 0 {
		text = strconv.Itoa(mtu)
	}
	return c.writeMachine(ctx, systemID, api.NewRequest(http.MethodPut, interfaceRoute, systemID, strconv.Itoa(interfaceID)).Put("mtu", text), nil)
}
