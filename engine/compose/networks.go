package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/engine"
)

// networksTTL is how long to keep a host's networks in memory. They change when people move
// cables.
const networksTTL = 5 * time.Minute

// hostNetworks remembers the interfaces of the machines of VM hosts.
type hostNetworks struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]hostNetwork
}

type hostNetwork struct {
	machine engine.Machine // only its interfaces
	until   time.Time
}

func newHostNetworks(now func() time.Time) *hostNetworks {
	return &hostNetworks{now: now, known: map[string]hostNetwork{}}
}

// readMachines reads the interfaces of machines, by their system ids. A machine that MAAS does
// not have gets none. Unknown ones are read all at once, so that the reads share calls.
func (n *hostNetworks) readMachines(ctx context.Context, machines engine.Machines, systemIDs ...string) (map[string]engine.Machine, error) {
	found := map[string]engine.Machine{}
	var missing []string
	n.mu.Lock()
	for _, id := range systemIDs {
		if known, ok := n.known[id]; ok && n.now().Before(known.until) {
			found[id] = known.machine
		} else if id != "" {
			missing = append(missing, id)
		}
	}
	n.mu.Unlock()
	var reads errgroup.Group
	for _, id := range missing {
		reads.Go(func() error {
			m, err := machines.Machine(ctx, id)
			if err != nil && !errors.Is(err, engine.ErrNotFound) {
				return err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			found[id] = engine.Machine{Interfaces: m.Interfaces, Bridges: m.Bridges, Children: m.Children}
			n.known[id] = hostNetwork{machine: found[id], until: n.now().Add(networksTTL)}
			return nil
		})
	}
	return found, reads.Wait()
}

// dropOlderThan drops entries older than age: somebody may just have linked a host.
func (n *hostNetworks) dropOlderThan(age time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, known := range n.known {
		if read := known.until.Add(-networksTTL); n.now().Sub(read) >= age {
			delete(n.known, id)
		}
	}
}

// hostAttachments tell which subnets the VMs of hosts can join.
type hostAttachments struct {
	machines map[string]engine.Machine // by system id, with their interfaces
	subnets  []engine.Subnet           // all of MAAS
}

// readHostNetworks reads the interfaces of the hosts' machines.
func (f *Finder) readHostNetworks(ctx context.Context, hosts ...engine.VMHost) (r hostAttachments, err error) {
	ids := make([]string, len(hosts))
	for n, h := range hosts {
		ids[n] = h.MachineID
	}
	if r.machines, err = f.networks.readMachines(ctx, f.Machines, ids...); err != nil {
		return r, fmt.Errorf("cannot read the networks of the VM hosts: %w", err)
	}
	r.subnets, err = f.Names.Subnets(ctx)
	return r, err
}

// subnetsOf lists the subnets that VMs of a host can join, through the named bridge or any. MAAS
// joins a VM to any interface that is linked to the subnet (forms/pods.py, ComposeMachineForm).
// This program joins it to a bridge.
func (r hostAttachments) subnetsOf(h engine.VMHost, bridge string) []engine.Subnet {
	m := r.machines[h.MachineID]
	return slices.DeleteFunc(slices.Clone(r.subnets), func(s engine.Subnet) bool {
		if h.MAASMakesVMs() {
			return !slices.ContainsFunc(m.Interfaces, func(i engine.MachineInterface) bool { return s.IsLinkedBy(i.Links) }) &&
				!slices.ContainsFunc(m.Children, func(i engine.ChildInterface) bool { return s.IsLinkedBy(i.Links) })
		}
		return !slices.ContainsFunc(m.Bridges, func(b engine.MachineBridge) bool {
			return (bridge == "" || b.Name == bridge) && b.IsOn(s)
		})
	})
}

// mayJoinByVLAN tells whether MAAS itself may join a VM to the subnet: an interface of the host is on its VLAN.
// MAAS also counts addresses that it has only seen there, which it does not list as links.
func (r hostAttachments) mayJoinByVLAN(h engine.VMHost, subnet engine.Subnet) bool {
	m := r.machines[h.MachineID]
	return h.MAASMakesVMs() && subnet.VLAN != 0 && (slices.ContainsFunc(m.Interfaces, func(i engine.MachineInterface) bool { return i.VLAN == subnet.VLAN }) ||
		slices.ContainsFunc(m.Children, func(i engine.ChildInterface) bool { return i.VLAN == subnet.VLAN }))
}

// lacksInterfaces tells whether MAAS shows no interface of the host's machine, or no link where it needs one.
func (r hostAttachments) lacksInterfaces(h engine.VMHost) bool {
	m := r.machines[h.MachineID]
	return len(m.Interfaces)+len(m.Children)+len(m.Bridges) == 0 || h.MAASMakesVMs() && len(r.subnetsOf(h, "")) == 0
}

// networkNames lists the networks of a host as placement names them: CIDRs and bridges, sorted.
func (r hostAttachments) networkNames(h engine.VMHost) []string {
	names := engine.SubnetCIDRs(r.subnetsOf(h, ""))
	for _, b := range r.machines[h.MachineID].Bridges {
		names = append(names, bridgeNetwork(b.Name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// bridgeNetwork is a bridge as placement sees it: a network that VMs join.
func bridgeNetwork(name string) string { return "bridge " + name }

// CheckNetworks refuses interfaces whose subnets VMs of the host cannot join. Only its compose would
// refuse them. Somebody may just have attached the host, so it looks twice.
func (f *Finder) CheckNetworks(ctx context.Context, host engine.VMHost, interfaces []engine.Interface) error {
	err := f.checkNetworksOnce(ctx, host, interfaces)
	if _, refused := errors.AsType[*engine.SpecError](err); refused {
		f.networks.dropOlderThan(time.Second)
		err = f.checkNetworksOnce(ctx, host, interfaces)
	}
	return err
}

func (f *Finder) checkNetworksOnce(ctx context.Context, host engine.VMHost, interfaces []engine.Interface) error {
	if host.MachineID == "" || !slices.ContainsFunc(interfaces, func(i engine.Interface) bool { return !i.Network().IsEmpty() }) {
		return nil
	}
	networks, err := f.readHostNetworks(ctx, host)
	if err != nil {
		return err
	}
	if networks.lacksInterfaces(host) {
		return nil // only the compose can refuse the VM
	}
	var errs []error
	for _, i := range interfaces {
		if !i.Network().IsEmpty() {
			errs = append(errs, f.checkNetwork(ctx, networks, host, i))
		}
	}
	return errors.Join(errs...)
}

// checkNetwork refuses an interface whose subnet VMs of the host cannot join.
func (f *Finder) checkNetwork(ctx context.Context, networks hostAttachments, host engine.VMHost, i engine.Interface) error {
	subnet, err := f.FindNetwork(ctx, i.Field(), i.Network())
	if err != nil {
		return nil //nolint:nilerr // the look at the interface itself reports it
	}
	isWanted := func(s engine.Subnet) bool { return s.ID == subnet.ID }
	known := networks.subnetsOf(host, "")
	if !slices.ContainsFunc(known, isWanted) && !networks.mayJoinByVLAN(host, subnet) {
		return notAttachedError(i, subnet, "VM host "+host.Name+" is not", "It is attached to "+engine.SubnetTexts(known))
	}
	byBridge := networks.subnetsOf(host, i.Bridge)
	if i.Bridge == "" || host.MAASMakesVMs() || len(byBridge) == 0 || slices.ContainsFunc(byBridge, isWanted) {
		return nil // the look at the bridges reports an unknown one
	}
	refused := notAttachedError(i, subnet, "bridge "+i.Bridge+" of VM host "+host.Name+" is not", "It is attached to "+engine.SubnetTexts(byBridge))
	refused.Field = i.Field("bridge")
	return refused
}

// notAttachedError refuses an interface, because something is not attached to its subnet.
func notAttachedError(i engine.Interface, subnet engine.Subnet, what, hint string) *engine.SpecError {
	field := i.Field("subnet")
	if i.Subnet == "" {
		field = i.Field()
	}
	return &engine.SpecError{
		Field: field, Message: fmt.Sprintf("%s attached to subnet %s", what, subnet.Text()),
		Hint: hint + ". Name one of these subnets, or another VM host.", Err: engine.ErrConflict,
	}
}
