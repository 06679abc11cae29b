package world

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
)

// World is everything in MAAS's database and in the LXDs. The lock guards it. A reset
// replaces it, and what was under way in the old world ends.
type World struct {
	Keeper        *Keeper
	Latency       Latency
	Version       string   // MAAS's version
	Architectures []string // architectures of the imported images
	// ImageArchitectures are the architectures of images that differ, by image.
	ImageArchitectures map[string][]string
	Rand               *rand.Rand
	VMHostsRemoved     bool          // VM hosts were removed from this MAAS
	Ended              bool          // replaced or closed; its timers have no effect
	Done               chan struct{} // closed at the end

	BuildError    error // the error that prevented its construction
	RackCondition Condition

	Site         *site.Site
	LastID       map[string]int // the last id of each kind of object
	Users        []*User
	Zones        map[int]*Zone
	Pools        map[int]*Pool
	Domains      map[int]*Domain
	Tags         map[string]*Tag
	Fabrics      []*Fabric
	VLANs        []*VLAN
	Subnets      []*Subnet
	Networks     []*Subnet // also those that MAAS does not know yet
	IPRanges     []*IPRange
	ReservedIPs  []*ReservedIP
	DNSResources []*DNSResource
	DNSRecords   []*DNSRecord
	Images       []string // "ubuntu/jammy", in order of import

	LastDeployed map[string]time.Time // by image
	RackID       string               // the rack controller's system id

	Machines map[string]*Machine // by system id
	Hosts    map[int]*VMHost
	BMCs     map[string]*BMC

	Spaces       map[int]*Space
	StaticRoutes map[int]*StaticRoute

	DefaultDomainID int             // id of set_default; 0 at first
	LXDs            map[string]*LXD // by host:port
	Wiped           []*LXD          // LXDs that were removed
	FaultSource     *RandomFaultSource
	NextSync        *Job
	Nonces          Nonces
	Timers          map[*time.Timer]bool
	LXDJobs         []*Job          // jobs of LXDs that belong to no machine
	UsedNames       map[string]bool // random names in use
}

// NextID is the next id of a kind of object, from 1.
func (w *World) NextID(kind string) int {
	w.LastID[kind]++
	return w.LastID[kind]
}

const idAlphabet = "48abcdefghkmnpqrstwxy"

// NewSystemID is a system id as MAAS makes it: six letters and digits.
func (w *World) NewSystemID() string {
	for {
		id := make([]byte, 6)
		for i := range id {
			id[i] = idAlphabet[w.Rand.IntN(len(idAlphabet))]
		}
		if w.Machines[string(id)] == nil && string(id) != w.RackID {
			return string(id)
		}
	}
}

// NewMAC is an address of the range that LXD uses.
func (w *World) NewMAC() string {
	n := w.Rand.Uint32()
	return fmt.Sprintf("00:16:3e:%02x:%02x:%02x", byte(n), byte(n>>8), byte(n>>16))
}

var (
	adjectives = []string{"able", "brisk", "calm", "daring", "eager", "fond", "gentle", "happy", "ideal", "jolly", "keen", "lively", "merry", "neat", "open", "polite", "quiet", "rapid", "smart", "tidy", "upbeat", "valid", "warm", "young"}
	animals    = []string{"ant", "bear", "crane", "deer", "eagle", "ferret", "gecko", "heron", "ibex", "jay", "koala", "lark", "mole", "newt", "otter", "panda", "quail", "raven", "seal", "toad", "urchin", "vole", "wren", "yak"}
)

// RandomName is MAAS's name for a machine without a given name.
func (w *World) RandomName() string {
	for i := 0; ; i++ {
		name := adjectives[w.Rand.IntN(len(adjectives))] + "-" + animals[w.Rand.IntN(len(animals))]
		if i > 1000 {
			name += fmt.Sprint(i)
		}
		if !w.UsedNames[name] && w.MachineNamed(name) == nil {
			w.UsedNames[name] = true
			return name
		}
	}
}

// User is a user of MAAS with API keys.
type User struct {
	Name, Email string
	Admin       bool
	Tokens      []*Token
}

// Token is an API key.
type Token struct {
	Name                  string // name of its consumer
	Consumer, Key, Secret string
}

// String is the key in the form for clients, "consumer:token:secret".
func (t *Token) String() string { return t.Consumer + ":" + t.Key + ":" + t.Secret }

// genericConsumer is the name of a token without a given name (models/user.py).
const genericConsumer = "MAAS consumer"

// NewUser is a user with an API key, "consumer:token:secret".
func NewUser(name, key string, admin bool) *User {
	parts := strings.Split(key, ":")
	token := &Token{Name: genericConsumer, Consumer: parts[0], Key: parts[1], Secret: parts[2]}
	return &User{Name: name, Email: name + "@example.com", Admin: admin, Tokens: []*Token{token}}
}

// NewToken makes a random token with MAAS's lengths.
func NewToken(w *World, name string) *Token {
	return &Token{Name: cmp.Or(name, genericConsumer), Consumer: randomKey(w, 18), Key: randomKey(w, 18), Secret: randomKey(w, 32)}
}

func randomKey(w *World, length int) string {
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789"
	key := make([]byte, length)
	for i := range key {
		key[i] = letters[w.Rand.IntN(len(letters))]
	}
	return string(key)
}

// UserNamed is the user with a name, or nil.
func UserNamed(w *World, name string) *User {
	for _, u := range w.Users {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// Latency is how long operations take: see Latency of package sim.
type Latency struct {
	Call, Compose, Commission time.Duration
	Deploy, FirstBoot         time.Duration
	FirstBootMost             time.Duration
	Release                   time.Duration
	PowerOn, PowerOff         time.Duration
	Refresh, Inventory        time.Duration
	Delete                    time.Duration
}

// Nonces are the used nonces, each with the time until which a repeated header would
// otherwise be accepted.
type Nonces struct {
	Seen  map[string]int64 // by nonceKey; times in seconds
	Sweep int64            // when old nonces are next dropped
}
