package maas

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
)

// Able implements engine.Composer.
func (c *Client) Able(ctx context.Context) error {
	can, err := c.Capabilities(ctx)
	if err != nil || can.VMHosts {
		return err
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("MAAS %s has no VM hosts any more, so it cannot compose VMs", can.Version),
		Hint:    `VM hosts were removed after MAAS 3.8. Let VMs be made in LXD itself (composer = "lxd", or "auto"), or use a MAAS up to that version.`,
		Err:     engine.ErrGone,
	}
}

// Hosts implements engine.Composer. Hosts of other kinds than LXD are left
// out. A list that does not serve the ledger any more is read anew.
func (c *Client) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	for tried := 1; ; tried++ {
		hosts, err := c.hosts.get(ctx)
		if err != nil {
			return nil, err
		}
		now, err := c.tag(ctx)
		if err != nil {
			return nil, err
		}
		old := func(hosts []engine.VMHost) bool { return len(hosts) > 0 && !hosts[0].Inventory.Serves(now) }
		// What somebody was reading may be too old as well.
		if !old(hosts) || tried == 3 {
			return slices.Clone(hosts), nil
		}
		c.hosts.discard(old)
	}
}

// RelistHosts lists the VM hosts anew, by a call that is shared with all who ask
// at the same moment. ErrGone where MAAS has none any more, however lately it had.
func (c *Client) RelistHosts(ctx context.Context) error {
	_, err := c.hosts.younger(ctx, 0)
	return err
}

// HostOf implements engine.Composer. What a ledger calls a VM host hardly ever
// changes, so the list is read once, and again for one that is new.
func (c *Client) HostOf(ctx context.Context, m engine.Machine) (engine.VMHost, error) {
	if m.HostID == 0 {
		return engine.VMHost{}, fmt.Errorf("%s is on no VM host: %w", m.Hostname, engine.ErrConflict)
	}
	if host, ok := c.hostIDs.Load(m.HostID); ok && host.(engine.VMHost).MachineID != "" {
		return host.(engine.VMHost), nil
	}
	hosts, err := c.hosts.reread(ctx)
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

func (c *Client) fetchHosts(ctx context.Context) ([]engine.VMHost, error) {
	tag, err := c.tag(ctx)
	if err != nil {
		return nil, err
	}
	var list []wireHost
	if err := c.list(ctx, get("vm-hosts/"), &list); err != nil {
		return nil, err
	}
	hosts := make([]engine.VMHost, 0, len(list))
	for _, h := range list {
		if h.Type == "lxd" {
			host := h.host()
			host.Inventory = tag
			hosts = append(hosts, host)
		}
	}
	nameForLedgers(hosts)
	for _, h := range hosts {
		c.hostIDs.Store(h.ID, engine.VMHost{ID: h.ID, Name: h.Name, MachineID: h.MachineID, HostKey: h.HostKey})
	}
	return hosts, nil
}

// nameForLedgers calls each host by its machine. Where a machine has several,
// only the first one is called so, however many come later.
func nameForLedgers(hosts []engine.VMHost) {
	first := map[string]int{} // by machine: the least id
	for _, h := range hosts {
		if id, ok := first[h.MachineID]; !ok || h.ID < id {
			first[h.MachineID] = h.ID
		}
	}
	for n, h := range hosts {
		hosts[n].HostKey = h.MachineID
		if h.MachineID == "" || first[h.MachineID] != h.ID {
			hosts[n].HostKey += "/vm-host-" + strconv.Itoa(h.ID)
		}
	}
}

// Compose implements engine.Composer. The VM is never commissioned by it: the
// marker on its root disk lasts until commissioning ends. Fixed addresses are
// not asked for either, as they do not survive commissioning; Machines.Link
// sets them later. For an unknown name nothing is sent.
func (c *Client) Compose(ctx context.Context, host engine.VMHost, comp engine.Composition) (string, error) {
	ids, err := c.resolve(ctx, comp)
	if err != nil {
		return "", err
	}
	r := post("compose", hostRoute, strconv.Itoa(host.ID))
	r.form = composeForm(comp, ids)
	r.once, r.timeout, r.begin = true, c.slow, comp.Begin
	defer c.hosts.drop()
	var made struct {
		SystemID string `json:"system_id"`
	}
	if err := c.call(ctx, r, &made); err != nil {
		return "", err
	}
	if made.SystemID == "" {
		e := newError(r, http.StatusOK, "MAAS did not say which machine it made")
		e.Unclear = true
		return "", e
	}
	return made.SystemID, nil
}

// Decompose implements engine.Composer. MAAS stops and deletes the instance
// before it answers.
func (c *Client) Decompose(ctx context.Context, systemID string) error {
	r := newRequest(http.MethodDelete, machineRoute, systemID)
	r.timeout = c.slow
	defer c.hosts.drop()
	if err := c.write(ctx, systemID, r, nil); !isMissing(err) {
		return err
	}
	return nil
}

// Clear implements engine.Composer: what MAAS left it alone can show.
func (*Client) Clear(context.Context, engine.Remains) error { return nil }

// Sync implements engine.Composer. MAAS looks at all VMs of the host.
func (c *Client) Sync(ctx context.Context, host engine.VMHost, _ string) error {
	r := post("refresh", hostRoute, strconv.Itoa(host.ID))
	r.timeout = c.slow
	defer c.hosts.drop()
	return c.call(ctx, r, nil)
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
	made.Err = h.trouble()
	for _, p := range h.StoragePools {
		made.StoragePools = append(made.StoragePools, engine.StoragePool{
			Name: p.Name, Driver: p.Type, TotalBytes: p.TotalBytes, AvailableBytes: p.AvailableBytes, Default: p.Default,
		})
	}
	return made
}
