package sim

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"
)

// world is everything that MAAS's database and the LXDs hold. Sim.mu guards
// it. Reset replaces it; what was under way in an old one ends there.
type world struct {
	sim   *Sim
	model Model
	rand  *rand.Rand
	gone  bool          // VM hosts were removed from this MAAS
	ended bool          // replaced or closed: its timers do nothing any more
	done  chan struct{} // closed then

	problem error // that kept it from being built
	rack    Condition

	lastID   map[string]int // the last id of each kind of object
	users    []*user
	zones    map[int]*zone
	pools    map[int]*pool
	domains  map[int]*domain
	tags     map[string]*tag
	fabrics  []*fabric
	vlans    []*vlan
	subnets  []*subnet
	networks []*subnet // also those that MAAS has yet to learn of
	ranges   []*ipRange
	reserved []*reservedIP
	dns      []*dnsResource
	records  []*dnsRecord
	images   []string // "ubuntu/jammy", in order of import
	rackID   string   // the rack controller's system id

	machines  map[string]*machine // by system id
	hosts     map[int]*vmHost
	bmcs      map[string]*bmc
	lxds      map[string]*lxdServer // by host:port
	wiped     []*lxdServer          // that were there once
	nasty     *nastiness
	nextSync  *job
	events    []*event
	nonces    nonces
	timers    map[*time.Timer]bool
	orphans   []*job          // of LXDs, without a machine
	usedNames map[string]bool // random names that were given out
}

// user is a MAAS user with one API key.
type user struct {
	name, email             string
	admin                   bool
	consumer, token, secret string
}

// zone is an availability zone.
type zone struct {
	id                int
	name, description string
}

// pool is a resource pool.
type pool struct {
	id                int
	name, description string
}

// domain is a DNS domain.
type domain struct {
	id            int
	name          string
	ttl           *int
	authoritative bool
}

// tag is a machine tag. Machines carry tags by name.
type tag struct {
	name, comment, kernelOpts, definition string
}

// fabric, vlan and subnet are one to one here: a subnet model makes all three.
type fabric struct {
	id   int
	name string
}

type vlan struct {
	id, vid, mtu int
	name         string
	fabric       *fabric
	dhcp         bool
}

type subnet struct {
	id         int
	name       string
	cidr       netip.Prefix
	gateway    string
	dnsServers []string
	vlan       *vlan
}

// ipRange is a dynamic or a reserved range of a subnet, both ends included.
type ipRange struct {
	id         int
	kind       string // "dynamic" or "reserved"
	start, end netip.Addr
	subnet     *subnet
	comment    string
}

// reservedIP is an address that a user reserved, or that a DNS record left
// behind.
type reservedIP struct {
	ip      netip.Addr
	subnet  *subnet // nil for an address outside all subnets
	owner   *user
	created time.Time
}

// dnsResource is a name with addresses, dnsRecord one with other data.
type dnsResource struct {
	id     int
	name   string
	domain *domain
	ttl    *int
	ips    []string
	links  []*link // of machines: they stay when a machine gives its address back, and are filled again
}

type dnsRecord struct {
	id           int
	name         string
	domain       *domain
	rrtype, data string
	ttl          *int
}

// nextID is the next id of a kind of object, from 1.
func (w *world) nextID(kind string) int {
	w.lastID[kind]++
	return w.lastID[kind]
}

const idAlphabet = "48abcdefghkmnpqrstwxy"

// newSystemID is MAAS's way to name a node: six letters and digits.
func (w *world) newSystemID() string {
	for {
		id := make([]byte, 6)
		for i := range id {
			id[i] = idAlphabet[w.rand.IntN(len(idAlphabet))]
		}
		if w.machines[string(id)] == nil && string(id) != w.rackID {
			return string(id)
		}
	}
}

// newMAC is an address of LXD's range.
func (w *world) newMAC() string {
	n := w.rand.Uint32()
	return fmt.Sprintf("00:16:3e:%02x:%02x:%02x", byte(n), byte(n>>8), byte(n>>16))
}

var (
	adjectives = []string{"able", "brisk", "calm", "daring", "eager", "fond", "gentle", "happy", "ideal", "jolly", "keen", "lively", "merry", "neat", "open", "polite", "quiet", "rapid", "smart", "tidy", "upbeat", "valid", "warm", "young"}
	animals    = []string{"ant", "bear", "crane", "deer", "eagle", "ferret", "gecko", "heron", "ibex", "jay", "koala", "lark", "mole", "newt", "otter", "panda", "quail", "raven", "seal", "toad", "urchin", "vole", "wren", "yak"}
)

// randomName is what MAAS calls a machine that nobody gave a name.
func (w *world) randomName() string {
	for i := 0; ; i++ {
		name := adjectives[w.rand.IntN(len(adjectives))] + "-" + animals[w.rand.IntN(len(animals))]
		if i > 1000 {
			name += fmt.Sprint(i)
		}
		if !w.usedNames[name] && w.machineNamed(name) == nil {
			w.usedNames[name] = true
			return name
		}
	}
}

func (w *world) machineNamed(hostname string) *machine {
	for _, m := range w.machines {
		if m.hostname == hostname {
			return m
		}
	}
	return nil
}

func (w *world) zoneNamed(name string) *zone {
	for _, z := range w.zones {
		if z.name == name {
			return z
		}
	}
	return nil
}

func (w *world) poolNamed(name string) *pool {
	for _, p := range w.pools {
		if p.name == name {
			return p
		}
	}
	return nil
}

func (w *world) domainNamed(name string) *domain {
	for _, d := range w.domains {
		if d.name == name {
			return d
		}
	}
	return nil
}

func (w *world) hostNamed(name string) *vmHost {
	for _, h := range sortedHosts(w.hosts) {
		if h.name == name {
			return h
		}
	}
	return nil
}

func (w *world) hasImage(osystem, series string) bool {
	for _, image := range w.images {
		if image == osystem+"/"+series {
			return true
		}
	}
	return false
}
