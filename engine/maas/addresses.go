package maas

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// addressesTTL is how long the used ranges of a subnet may confirm that an address is free.
const addressesTTL = 10 * time.Second

// usedRange is a range of addresses that MAAS does not assign. Both ends are included.
type usedRange struct {
	First    netip.Addr `json:"start"`
	Last     netip.Addr `json:"end"`
	Purposes []string   `json:"purpose"`
}

func (r usedRange) contains(ip netip.Addr) bool {
	return r.First.Compare(ip) <= 0 && ip.Compare(r.Last) <= 0
}

// assignedPurpose is MAAS's word for assigned addresses.
const assignedPurpose = "assigned-ip"

// purposes are MAAS's words for the use of a range (models/subnet.py, get_ipranges_in_use).
// If several apply, the last one in this list counts.
var purposes = []struct {
	word string
	is   engine.AddressPurpose
}{
	{assignedPurpose, engine.AddressTaken},
	{"dns-server", engine.AddressGateway},
	{"gateway-ip", engine.AddressGateway},
	{"reserved", engine.AddressReserved},
	{"dynamic", engine.AddressDynamic},
}

func (r usedRange) addressPurpose() engine.AddressPurpose {
	found := engine.AddressTaken
	for _, p := range purposes {
		if slices.Contains(r.Purposes, p.word) {
			found = p.is
		}
	}
	return found
}

// Addresses shows which addresses of a subnet are in use, and for what.
type Addresses struct {
	api    *api.Client
	ranges *subnetRanges
}

func newAddresses(l listConfig) *Addresses {
	c := &Addresses{api: l.api}
	c.ranges = &subnetRanges{bySubnet: map[int]*share.Cached[[]usedRange]{}, newList: func(subnetID int) *share.Cached[[]usedRange] {
		return share.NewCached(addressesTTL, l.limit(), l.now, c.fetchRanges(subnetID))
	}}
	return c
}

// AddressUse implements engine.Addresses. One call shows all callers that ask about a
// subnet whether their addresses are free. An address that is not free is read again before
// it is reported. A separate call finds who has it.
func (c *Addresses) AddressUse(ctx context.Context, subnet engine.Subnet, ip netip.Addr) (engine.AddressUse, error) {
	list := c.ranges.listOf(subnet.ID)
	used, err := list.Get(ctx)
	if _, inUse := findRange(used, ip); err != nil || !inUse {
		return engine.AddressUse{}, err
	}
	used, err = list.GetYounger(ctx, 0)
	at, inUse := findRange(used, ip)
	if err != nil || !inUse {
		return engine.AddressUse{}, err
	}
	return c.describeUse(ctx, subnet, ip, used, at)
}

// findRange returns the range that contains an address.
func findRange(used []usedRange, ip netip.Addr) (usedRange, bool) {
	i := slices.IndexFunc(used, func(r usedRange) bool { return r.contains(ip) })
	if i < 0 {
		return usedRange{}, false
	}
	return used[i], true
}

// describeUse describes why an address is not free.
func (c *Addresses) describeUse(ctx context.Context, subnet engine.Subnet, ip netip.Addr, used []usedRange, at usedRange) (engine.AddressUse, error) {
	use := engine.AddressUse{Purpose: at.addressPurpose(), NearbyFree: nearbyFreeAddress(subnet, used, ip)}
	if slices.Contains(at.Purposes, assignedPurpose) {
		holder, found, err := c.findHolder(ctx, subnet, ip)
		if err != nil {
			return engine.AddressUse{}, err
		}
		// Addresses that MAAS assigned within a reserved range merge with it into one
		// range.
		if found || use.Purpose == engine.AddressTaken {
			use.Purpose, use.SystemID, use.Holder = engine.AddressTaken, holder.Node.SystemID, holder.describe()
		}
	}
	if use.Purpose == engine.AddressDynamic || use.Purpose == engine.AddressReserved {
		use.First, use.Last = at.First, at.Last
	}
	return use, nil
}

// wireHolder is an address of a subnet, with the machine, device, user or name that has it.
type wireHolder struct {
	IP   string `json:"ip"`
	User string `json:"user"`
	Node struct {
		SystemID string `json:"system_id"`
		Hostname string `json:"hostname"`
		Type     int    `json:"node_type"`
	} `json:"node_summary"`
	Names []struct {
		Name   string `json:"name"`
		Domain string `json:"domain"`
	} `json:"dns_records"`
}

// findHolder returns who has an address.
func (c *Addresses) findHolder(ctx context.Context, subnet engine.Subnet, ip netip.Addr) (h wireHolder, found bool, err error) {
	var list []wireHolder
	if err := c.api.Call(ctx, api.NewGet("subnets/{id}/", strconv.Itoa(subnet.ID)).Op("ip_addresses"), &list); err != nil {
		return wireHolder{}, false, err
	}
	for _, h := range list {
		if at, err := netip.ParseAddr(h.IP); err == nil && at == ip {
			return h, true, nil
		}
	}
	return wireHolder{}, false, nil
}

// nodeMachine and nodeDevice are MAAS's numbers for kinds of nodes (enum.py, NODE_TYPE).
// The other kinds are MAAS's own servers.
const (
	nodeMachine = 0
	nodeDevice  = 1
)

// describe names the holder.
func (h wireHolder) describe() string {
	switch {
	case h.Node.SystemID != "" && h.Node.Type == nodeMachine:
		return fmt.Sprintf("machine %s (%s)", h.Node.Hostname, h.Node.SystemID)
	case h.Node.SystemID != "" && h.Node.Type == nodeDevice:
		return fmt.Sprintf("device %s (%s)", h.Node.Hostname, h.Node.SystemID)
	case h.Node.SystemID != "":
		return "MAAS's own server " + h.Node.Hostname
	case len(h.Names) > 0:
		return fmt.Sprintf("the DNS name %s.%s", h.Names[0].Name, h.Names[0].Domain)
	case h.User != "":
		return fmt.Sprintf("the MAAS user %s, who reserved it", h.User)
	}
	return "something that MAAS does not name"
}

// nearbyFreeAddress returns the next free address above ip, else the next one below it.
func nearbyFreeAddress(subnet engine.Subnet, used []usedRange, ip netip.Addr) netip.Addr {
	network, err := netip.ParsePrefix(subnet.CIDR)
	if err != nil {
		return netip.Addr{}
	}
	free := func(at netip.Addr) bool {
		return network.Contains(at) && network.Contains(at.Next()) && at != network.Masked().Addr()
	}
	up, down := skipUsedRanges(used, ip, func(r usedRange) netip.Addr { return r.Last.Next() }), skipUsedRanges(used, ip, func(r usedRange) netip.Addr { return r.First.Prev() })
	switch {
	case free(up):
		return up
	case free(down):
		return down
	}
	return netip.Addr{}
}

// skipUsedRanges moves on from an address until it is outside all used ranges.
func skipUsedRanges(used []usedRange, from netip.Addr, beyond func(usedRange) netip.Addr) netip.Addr {
	for from.IsValid() {
		at, inUse := findRange(used, from)
		if !inUse {
			break
		}
		from = beyond(at)
	}
	return from
}

// subnetRanges caches the used ranges of each subnet that callers ask about.
type subnetRanges struct {
	newList func(subnetID int) *share.Cached[[]usedRange]

	mu       sync.Mutex
	bySubnet map[int]*share.Cached[[]usedRange]
}

func (s *subnetRanges) listOf(subnetID int) *share.Cached[[]usedRange] {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := s.bySubnet[subnetID]
	if !ok {
		list = s.newList(subnetID)
		s.bySubnet[subnetID] = list
	}
	return list
}

// expire forgets ranges that are old enough to be read again.
func (s *subnetRanges) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.bySubnet {
		list.Expire()
	}
}

// drop forgets the ranges of a subnet in which an address was just assigned.
func (s *subnetRanges) drop(subnetID int) { s.listOf(subnetID).Drop() }

// fetchRanges reads the used ranges of a subnet.
func (c *Addresses) fetchRanges(subnetID int) func(context.Context) ([]usedRange, error) {
	return func(ctx context.Context) (used []usedRange, err error) {
		err = c.api.Call(ctx, api.NewGet("subnets/{id}/", strconv.Itoa(subnetID)).Op("reserved_ip_ranges"), &used)
		return used, err
	}
}
