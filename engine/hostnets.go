package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// hostNetsTTL is how long a host's networks are taken for the same. They
// change with cables.
const hostNetsTTL = 5 * time.Minute

// hostNets remembers to which subnets the machines of VM hosts are attached.
type hostNets struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]hostNet
}

type hostNet struct {
	cidrs []string
	until time.Time
}

func newHostNets(now func() time.Time) *hostNets {
	return &hostNets{now: now, known: map[string]hostNet{}}
}

// of lists the CIDRs of the subnets that machines are attached to, by their
// system ids; none for a machine that MAAS does not have. What is not known
// yet is read all at once, so that the reads share calls.
func (n *hostNets) of(ctx context.Context, machines Machines, systemIDs []string) (map[string][]string, error) {
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
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			found[id] = m.attached()
			n.known[id] = hostNet{cidrs: found[id], until: n.now().Add(hostNetsTTL)}
			return nil
		})
	}
	return found, reads.Wait()
}

// expire drops what is older than age: somebody may just have linked a host.
func (n *hostNets) expire(age time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, known := range n.known {
		if read := known.until.Add(-hostNetsTTL); n.now().Sub(read) >= age {
			delete(n.known, id)
		}
	}
}

// attached lists the CIDRs of the subnets that the machine's interfaces and
// bridges are linked to, sorted.
func (m Machine) attached() []string {
	var cidrs []string
	add := func(links []InterfaceLink) {
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
		add(b.Links)
	}
	slices.Sort(cidrs)
	return slices.Compact(cidrs)
}
