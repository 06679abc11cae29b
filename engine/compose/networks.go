package compose

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/engine"
)

// networksTTL is how long to keep a host's networks in memory. They change when people move
// cables.
const networksTTL = 5 * time.Minute

// hostNetworks remembers to which subnets the machines of VM hosts are attached.
type hostNetworks struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]hostNetwork
}

type hostNetwork struct {
	cidrs []string
	until time.Time
}

func newHostNetworks(now func() time.Time) *hostNetworks {
	return &hostNetworks{now: now, known: map[string]hostNetwork{}}
}

// readNetworks lists the CIDRs of the subnets of machines, by their system ids. A machine that
// MAAS does not have gets none. Unknown ones are read all at once, so that the reads share
// calls.
func (n *hostNetworks) readNetworks(ctx context.Context, machines engine.Machines, systemIDs []string) (map[string][]string, error) {
	found := map[string][]string{}
	var missing []string
	n.mu.Lock()
	for _, id := range systemIDs {
		if known, ok := n.known[id]; ok && n.now().Before(known.until) {
			found[id] = known.cidrs
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
			found[id] = networksOf(m)
			n.known[id] = hostNetwork{cidrs: found[id], until: n.now().Add(networksTTL)}
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

// bridgeNetwork is a bridge as placement sees it: a network that VMs join.
func bridgeNetwork(name string) string { return "bridge " + name }

// networksOf lists the CIDRs of the subnets that the machine's interfaces and bridges are
// linked to, and the bridges, sorted.
func networksOf(m engine.Machine) []string {
	var cidrs []string
	add := func(links []engine.InterfaceLink) {
		for _, l := range links {
			if l.Subnet != "" {
				cidrs = append(cidrs, l.Subnet)
			}
		}
	}
	for _, i := range m.Interfaces {
		add(i.Links)
	}
	for _, b := range m.Bridges {
		cidrs = append(cidrs, bridgeNetwork(b.Name))
		add(b.Links)
	}
	slices.Sort(cidrs)
	return slices.Compact(cidrs)
}
