package maas

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// Hosts are the VM hosts of a MAAS up to 3.8. It composes VMs on them and registers LXD
// servers.
type Hosts struct {
	api      *api.Client
	machines *Machines
	names    *Names
	tags     *Tags
	catalog  *Catalog

	ledger engine.InventoryTags
	list   *share.Cached[[]engine.VMHost]
	keys   hostKeys
	byID   sync.Map // int, MAAS's number, to engine.VMHost
}

func newHosts(l listConfig, ledger engine.InventoryTags) *Hosts {
	c := &Hosts{api: l.api, ledger: ledger}
	c.list = share.NewCached(hostsTTL, l.limit(), l.now, c.fetchHosts)
	return c
}

// CheckCanCompose implements engine.Composer.
func (c *Hosts) CheckCanCompose(ctx context.Context) error {
	can, err := c.catalog.Capabilities(ctx)
	if err != nil || can.VMHosts {
		return err
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("MAAS %s has no VM hosts any more, so it cannot compose VMs", can.Version),
		Hint:    "VM hosts were removed after MAAS 3.8. Use a MAAS up to that version.",
		Ways:    []engine.Way{engine.WayComposeInLXD},
		Err:     engine.ErrGone,
	}
}

// Hosts implements engine.Composer. It omits hosts that are not LXD. A list that the ledger
// no longer accepts is read again.
func (c *Hosts) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	for tried := 1; ; tried++ {
		hosts, err := c.list.Get(ctx)
		if err != nil {
			return nil, err
		}
		if len(hosts) == 0 {
			return hosts, nil
		}
		inventory := hosts[0].Inventory
		serves, err := c.ledger.AcceptsInventory(ctx, inventory)
		if err != nil {
			return nil, err
		}
		// A read that another caller began may be too old as well.
		if serves || tried == 3 {
			return slices.Clone(hosts), nil
		}
		c.list.DiscardIf(func(hosts []engine.VMHost) bool { return len(hosts) > 0 && hosts[0].Inventory == inventory })
	}
}

// RelistHosts reads the VM hosts again. Callers that ask at the same time share the call.
// The error is ErrGone if MAAS no longer has VM hosts, even if it had them a moment ago.
func (c *Hosts) RelistHosts(ctx context.Context) error {
	_, err := c.list.GetYounger(ctx, 0)
	return err
}

// HostOf implements engine.Composer. The ledger's name of a VM host hardly ever changes. So
// the list is read once, and again only for an unknown host.
func (c *Hosts) HostOf(ctx context.Context, m engine.Machine) (engine.VMHost, error) {
	if m.HostID == 0 {
		return engine.VMHost{}, fmt.Errorf("%s is on no VM host: %w", m.Hostname, engine.ErrConflict)
	}
	if host, ok := c.byID.Load(m.HostID); ok && host.(engine.VMHost).MachineID != "" {
		return host.(engine.VMHost), nil
	}
	hosts, err := c.list.Reread(ctx)
	if err != nil {
		return engine.VMHost{}, err
	}
	for _, h := range hosts {
		if h.ID == m.HostID {
			return h, nil
		}
	}
	return engine.VMHost{}, fmt.Errorf("MAAS does not list VM host %s: %w", m.HostName, engine.ErrBusy)
}

func (c *Hosts) fetchHosts(ctx context.Context) ([]engine.VMHost, error) {
	tag, err := c.ledger.CurrentTag(ctx)
	if err != nil {
		return nil, err
	}
	r := api.NewGet("vm-hosts/")
	var list api.Elements[wireHost]
	if err := c.api.List(ctx, r, &list); err != nil {
		return nil, err
	}
	hosts := make([]engine.VMHost, 0, len(list.List))
	for n, h := range list.List {
		makePrintable(&h.Name, &h.Zone.Name, &h.Pool.Name)
		why, odd := list.Unreadable[n]
		if odd && (h.ID == 0 || h.Name == "") {
			return nil, api.UnreadableError(r, "it does not say which VM host it is about")
		}
		if h.Type != "lxd" {
			continue
		}
		host := h.host()
		host.Inventory = tag
		if odd {
			host.Err = api.UnreadableError(r, fmt.Sprintf("VM host %s: %v", h.Name, why))
		}
		hosts = append(hosts, host)
	}
	c.keys.assignKeys(hosts)
	for _, h := range hosts {
		c.byID.Store(h.ID, engine.VMHost{ID: h.ID, Name: h.Name, MachineID: h.MachineID, HostKey: h.HostKey})
	}
	return hosts, nil
}

// hostKeys remembers the ledger's names of the VM hosts, by id. A name must not change:
// rows and locks of the host use it.
type hostKeys struct {
	mu    sync.Mutex
	known map[int]hostKey
}

// hostKey is a name, and the machine for which it was assigned.
type hostKey struct{ machineID, name string }

// assignKeys names each host after its machine. If a machine has several hosts, only the
// one with the lowest id gets that name. A host keeps its name. Example: the second host of
// a machine keeps its name when the first one is removed.
func (k *hostKeys) assignKeys(hosts []engine.VMHost) {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := map[string]int{} // by machine: the least id
	for _, h := range hosts {
		if id, ok := first[h.MachineID]; !ok || h.ID < id {
			first[h.MachineID] = h.ID
		}
	}
	now := make(map[int]hostKey, len(hosts))
	for n, h := range hosts {
		key, had := k.known[h.ID]
		if !had || key.machineID != h.MachineID {
			key = hostKey{h.MachineID, h.MachineID}
			if h.MachineID == "" || first[h.MachineID] != h.ID {
				key.name += "/vm-host-" + strconv.Itoa(h.ID)
			}
		}
		now[h.ID], hosts[n].HostKey = key, key.name
	}
	k.known = now
}

func (h wireHost) host() engine.VMHost {
	made := engine.VMHost{
		ID:               h.ID,
		Name:             h.Name,
		Version:          h.Version,
		Zone:             h.Zone.Name,
		Pool:             h.Pool.Name,
		Tags:             slices.Sorted(slices.Values(h.Tags)),
		Cores:            engine.Amount{Total: h.Total.Cores, Used: h.Used.Cores},
		MemoryMiB:        engine.Amount{Total: h.Total.MemoryMiB, Used: h.Used.MemoryMiB},
		CPUOvercommit:    h.CPUOvercommit,
		MemoryOvercommit: h.MemoryOvercommit,
		Architectures:    h.Architectures,
		MachineID:        h.Machine.SystemID,
	}
	made.Err = h.unusableError()
	for _, p := range h.StoragePools {
		made.StoragePools = append(made.StoragePools, engine.StoragePool{
			Name: p.Name, Driver: p.Type, TotalBytes: p.TotalBytes, AvailableBytes: p.AvailableBytes, Default: p.Default,
		})
	}
	return made
}
