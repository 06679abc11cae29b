package maas

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	r := get("vm-hosts/")
	var list elements[wireHost]
	if err := c.list(ctx, r, &list); err != nil {
		return nil, err
	}
	hosts := make([]engine.VMHost, 0, len(list.list))
	for n, h := range list.list {
		why, odd := list.odd[n]
		if odd && (h.ID == 0 || h.Name == "") {
			return nil, unreadable(r, "it does not say which VM host it is about")
		}
		if h.Type != "lxd" {
			continue
		}
		host := h.host()
		host.Inventory = tag
		if odd {
			host.Err = unreadable(r, fmt.Sprintf("VM host %s: %v", h.Name, why))
		}
		hosts = append(hosts, host)
	}
	c.hostKeys.name(hosts)
	for _, h := range hosts {
		c.hostIDs.Store(h.ID, engine.VMHost{ID: h.ID, Name: h.Name, MachineID: h.MachineID, HostKey: h.HostKey})
	}
	return hosts, nil
}

// hostKeys remembers what ledgers call the VM hosts, by their ids. A name must
// stay: rows and locks of the host go by it.
type hostKeys struct {
	mu    sync.Mutex
	known map[int]hostKey
}

// hostKey is a name, and the machine that it was given for.
type hostKey struct{ machineID, name string }

// name calls each host by its machine. Where a machine has several, only the
// first one is called so, however many come later. A host that has a name keeps
// it, e.g. the second one when the first one is removed.
func (k *hostKeys) name(hosts []engine.VMHost) {
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

// Compose implements engine.Composer. The VM is never commissioned by it: the
// marker on its root disk lasts until commissioning ends. Fixed addresses are
// not asked for either, as they do not survive commissioning; Machines.Link
// sets them later. For an unknown name nothing is sent.
func (c *Client) Compose(ctx context.Context, host engine.VMHost, comp engine.Composition) (string, error) {
	ids, err := c.resolve(ctx, comp)
	if err != nil {
		return "", err
	}
	if err := c.makeTags(ctx, host.Tags); err != nil {
		return "", fmt.Errorf("cannot give MAAS the tags of VM host %s: %w", host.Name, err)
	}
	r := post("compose", hostRoute, strconv.Itoa(host.ID))
	r.form = composeForm(comp, ids)
	r.once, r.slow, r.begin = true, true, comp.Begin
	defer c.hosts.drop()
	var made struct {
		SystemID string `json:"system_id"`
	}
	if err := c.call(ctx, r, &made); err != nil {
		return "", composeRefused(err)
	}
	if made.SystemID == "" {
		e := newError(r, http.StatusOK, "MAAS did not say which machine it made")
		e.Unclear = true
		return "", e
	}
	return made.SystemID, nil
}

// composeRefused sorts LXD's own refusals out of MAAS's 503, which also says that
// a rack controller or an LXD is away. What LXD refused it refuses again, and MAAS
// has made the volumes of the data disks by then, once for each repeat
// (provisioningserver/drivers/pod/lxd.py, compose). Only words tell the two apart:
// words that are not known here count as a 503 that passes, as before.
func composeRefused(err error) error {
	e, ok := asError(err)
	if !ok || e.Status != http.StatusServiceUnavailable {
		return err
	}
	_, refused, fromLXD := strings.Cut(e.Message, "Failed talking to pod: ")
	switch {
	case !fromLXD:
		return err
	case strings.HasPrefix(refused, "Invalid "), strings.Contains(refused, "Cannot define "):
		e.Kind, e.passing = engine.ErrInvalid, false
	case strings.HasPrefix(refused, "Failed creating instance record:") && strings.Contains(refused, "already exists"):
		e.Kind, e.passing = engine.ErrConflict, false
	}
	return e
}

// Decompose implements engine.Composer. MAAS stops and deletes the instance
// before it answers.
func (c *Client) Decompose(ctx context.Context, systemID string) error {
	r := newRequest(http.MethodDelete, machineRoute, systemID)
	r.slow = true
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
	r.slow = true
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
