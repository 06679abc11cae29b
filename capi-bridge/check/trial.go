package check

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// trialTag marks VM hosts that exist only for a check.
const trialTag = "maaslxd-check"

func isLeftover(h engine.VMHost) bool { return slices.Contains(h.Tags, trialTag) }

// How often the VM host is read. How long MAAS may work on a request after its
// reply was lost (120 s, clusterrpc/pods.py). How long the removal may take.
const (
	hostPollInterval = 2 * time.Second
	lostReplyWindow  = 130 * time.Second
	removalTimeout   = 3 * time.Minute
)

// trial is a registration that is undone afterwards.
type trial struct {
	*findings
	client  *maas.Client
	options *vmHostOptions
}

// run registers, waits, and removes. It removes even if the caller has given up
// meanwhile.
func (t *trial) run(ctx context.Context) (err error) {
	before, err := t.client.Names.Subnets(ctx)
	if err != nil {
		return err
	}
	name := trialTag + "-" + strings.ToLower(rand.Text()[:6])
	made, err := t.client.Hosts.Register(ctx, engine.Registration{
		Name: name, Endpoint: engine.Endpoint{Address: t.options.address, Project: t.options.project},
		Credentials: t.options.credentials, Zone: t.options.zone, Pool: t.options.pool, Tags: []string{trialTag},
	})
	if err != nil && !errors.Is(err, engine.ErrUnclear) {
		return err
	}
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTimeout)
	defer cancel()
	if err != nil {
		return errors.Join(err, t.removeUnclearHost(cleanup, name))
	}
	seen, err := t.awaitInventory(ctx, made.ID, name)
	if err == nil {
		t.reportOK("MAAS registered it, and knows LXD %s, %d cores, %d MiB, %d storage pools", seen.Version, seen.Cores.Total, seen.MemoryMiB.Total, len(seen.StoragePools))
	}
	seen.ID, seen.Name = made.ID, name
	if failure := t.removeHost(cleanup, seen); failure != nil {
		return errors.Join(err, failure)
	}
	t.reportOK("MAAS has removed it again")
	t.reportLearntSubnets(cleanup, before)
	return err
}

// awaitInventory waits until MAAS knows the resources of the LXD. MAAS answers
// a registration with success whether it could reach the LXD or not. A refresh
// says why it could not.
func (t *trial) awaitInventory(ctx context.Context, id int, name string) (engine.VMHost, error) {
	asked := false
	for {
		h, err := t.findHost(ctx, func(h engine.VMHost) bool { return h.ID == id })
		if err == nil && h.Version == "" && !asked {
			asked = true
			if err = t.client.Hosts.SyncHost(ctx, h, ""); err != nil {
				err = fmt.Errorf("MAAS has registered it but cannot use it: %w", err)
			}
		}
		switch {
		case ctx.Err() != nil: // whichever call ctx interrupted
			return h, fmt.Errorf("MAAS does not know the resources of %s: %w", name, ctx.Err())
		case err != nil:
			return h, err
		case h.Version != "" && h.Cores.Total > 0 && h.MachineID != "":
			return h, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(hostPollInterval):
		}
	}
}

// findHost returns the VM host that passes the test, as MAAS has it now;
// ErrNotFound for none.
func (t *trial) findHost(ctx context.Context, fits func(engine.VMHost) bool) (engine.VMHost, error) {
	t.client.Names.Refresh()
	hosts, err := t.client.Hosts.Hosts(ctx)
	if err != nil {
		return engine.VMHost{}, err
	}
	if n := slices.IndexFunc(hosts, fits); n >= 0 {
		return hosts[n], nil
	}
	return engine.VMHost{}, fmt.Errorf("MAAS does not list the VM host: %w", engine.ErrNotFound)
}

// removeUnclearHost removes a VM host that may exist, or may still appear.
func (t *trial) removeUnclearHost(ctx context.Context, name string) error {
	for end := time.Now().Add(lostReplyWindow); ; {
		h, err := t.findHost(ctx, func(h engine.VMHost) bool { return h.Name == name })
		if err == nil {
			return t.removeHost(ctx, h)
		}
		if !errors.Is(err, engine.ErrNotFound) || time.Now().After(end) {
			return ignoreError(err, engine.ErrNotFound)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(hostPollInterval):
		}
	}
}

// removeHost removes the VM host, and checks that nothing of it is left. MAAS
// itself removes the machine that it made for the host.
func (t *trial) removeHost(ctx context.Context, h engine.VMHost) error {
	if err := t.client.Hosts.Unregister(ctx, h); err != nil {
		return fmt.Errorf("cannot remove VM host %s (id %d) again; remove it in MAAS: %w", h.Name, h.ID, err)
	}
	_, err := t.findHost(ctx, func(other engine.VMHost) bool { return other.ID == h.ID })
	if err := ignoreError(err, engine.ErrNotFound); err != nil {
		return err
	}
	if err == nil {
		return fmt.Errorf("MAAS still has VM host %s (id %d); remove it in MAAS", h.Name, h.ID)
	}
	if h.MachineID == "" {
		return nil
	}
	m, err := t.client.Machines.Machine(ctx, h.MachineID)
	if err == nil {
		return fmt.Errorf("MAAS still has the machine %s (%s) of the VM host; delete it in MAAS", m.Hostname, m.SystemID)
	}
	return ignoreError(err, engine.ErrNotFound)
}

// reportLearntSubnets reports the subnets that MAAS saw on the LXD and keeps.
func (t *trial) reportLearntSubnets(ctx context.Context, before []engine.Subnet) {
	t.client.Names.Refresh()
	after, err := t.client.Names.Subnets(ctx)
	if err != nil {
		return
	}
	for _, s := range after {
		if !slices.ContainsFunc(before, func(b engine.Subnet) bool { return b.CIDR == s.CIDR }) {
			t.reportNote("MAAS has added the subnet %s, and keeps it", s.CIDR)
		}
	}
}

// ignoreError returns the error, or nil if it is the sentinel.
func ignoreError(err, sentinel error) error {
	if errors.Is(err, sentinel) {
		return nil
	}
	return err
}
