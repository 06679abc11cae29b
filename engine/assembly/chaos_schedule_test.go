package assembly_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// schedule is one random story: who wants what, what breaks, and when.
type schedule struct {
	t            *testing.T
	seed         uint64
	began        time.Time
	sim          *sim.Sim
	model        sim.Model
	disturbances disturbances
	owners       []*owner
	witness      *observer
	admin        *maas.Client // the operator's, and the judge's
	quiet        atomic.Bool  // nothing breaks any more

	mu     sync.Mutex
	events []string
}

// disturbances is how bad it gets: probabilities by call.
type disturbances struct {
	broken float64 // calls that fail, before or after their effect
	death  float64 // calls at which the process dies
	leak   float64 // composes that fail after LXD has made the instance
	late   float64 // composes at which MAAS is for up to two minutes
	keep   float64 // deletes that are answered with 204 and leave the instance
	acts   int     // of the operator
}

// newDice are thrown by what they are for: the same call of the same process has
// the same luck in each run of a seed, whichever goroutine comes first.
func (s *schedule) newDice(what ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, s.seed, what) //nolint:errcheck // never fails
	return rand.New(rand.NewPCG(h.Sum64(), s.seed))
}

// newSchedule makes one. owners are those who take part in it.
func newSchedule(t *testing.T, seed uint64, owners func(*schedule, *rand.Rand)) *schedule {
	s := &schedule{t: t, seed: seed, began: time.Now()}
	d := s.newDice("world")
	s.disturbances = disturbances{
		broken: pickRandom(d, 0, 0.02, 0.05, 0.1), death: pickRandom(d, 0, 0.005, 0.01, 0.03),
		leak: pickRandom(d, 0, 0.1, 0.3), late: pickRandom(d, 0, 0.1, 0.3), keep: pickRandom(d, 0, 0.1, 0.3),
		acts: d.IntN(8),
	}
	s.model = nastyWorld(d, seed)
	var err error
	if s.sim, err = sim.New(s.model); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.sim.Close)
	s.witness = newObserver(s)
	s.admin, err = maas.New(maas.Config{
		URL: "http://maas.example/MAAS", APIKey: s.sim.APIKey(), Transport: s.sim.RoundTripper(), Rand: alwaysHalf,
	})
	if err != nil {
		t.Fatal(err)
	}
	owners(s, d)
	s.note("world", "%d hosts, %+v, ledgers: %s", len(s.model.Hosts), s.disturbances, s.owners[0].ledger.kind)
	return s
}

func alwaysHalf() float64 { return 0.5 }

func pickRandom[T any](d *rand.Rand, from ...T) T { return from[d.IntN(len(from))] }

// nastyWorld has few and small hosts, so that room is scarce.
func nastyWorld(d *rand.Rand, seed uint64) sim.Model {
	m := world()
	m.Seed = int64(seed)
	m.Zones, m.Hosts = []string{"az1", "az2"}, nil
	for n := range 2 + d.IntN(2) {
		m.Hosts = append(m.Hosts, sim.HostModel{
			Name: fmt.Sprintf("lxd%d", n+1), Zone: m.Zones[n%2], LXDVersion: "5.21.3", Subnets: []string{"lan"},
			Cores: 3 + d.IntN(4), MemoryMiB: int64(4+d.IntN(6)) * 1024,
			StoragePools: []sim.StoragePoolModel{
				{Name: "default", Driver: "zfs", SizeGB: int64(24 + d.IntN(40)), Default: true},
				{Name: "fast", Driver: "zfs", SizeGB: 20},
			},
		})
	}
	m.Latency = sim.Latency{
		Call: 7 * time.Millisecond, Compose: pickRandom(d, 300*time.Millisecond, 1100*time.Millisecond),
		Commission: 6 * time.Second, Deploy: 6 * time.Second, Release: time.Second,
		PowerOn: 2 * time.Second, PowerOff: time.Second,
		Refresh: 400 * time.Millisecond, Delete: 150 * time.Millisecond,
	}
	// Only the engine keeps the hosts from being over-committed.
	m.RandomFaults = sim.RandomFaults{Overcommit: true, SyncOverCompose: pickRandom(d, 0, 0, 0.1), SyncInCompose: pickRandom(d, 0, 0.1, 0.2)}
	return m
}

// newOwners makes two owners, of one ledger or of one each, who agree on some
// names.
func (s *schedule) newOwners(d *rand.Rand) {
	shared := newChaosLedger(s, "shared", d.IntN(4) == 0)
	for _, name := range []string{"red", "blue"} {
		s.owners = append(s.owners, s.newOwner(name, name, shared))
	}
	if d.IntN(3) == 0 {
		for _, o := range s.owners {
			o.ledger = newChaosLedger(s, o.name+"'s own", d.IntN(4) == 0)
		}
		shared.close()
	}
}

// newOwner makes one whose keys begin with a prefix.
func (s *schedule) newOwner(name, prefix string, b *chaosLedger) *owner {
	o := &owner{
		s: s, name: name, prefix: prefix, dice: s.newDice("owner", name), ledger: b,
		wishes: map[string]*wish{}, droppedWishes: map[string]*wish{}, known: map[string]*knownVM{}, lastErrors: map[string]error{},
	}
	for n := range 2 {
		o.names = append(o.names, fmt.Sprintf("%s-%d", name, n+1))
	}
	o.names = append(o.names, "both")
	return o
}

// run plays the schedule until all is quiet, and everybody has what he wants
// at last or knows why not.
func (s *schedule) run() {
	stop := make(chan struct{})
	var nasty, busy sync.WaitGroup
	nasty.Go(func() { s.operate(stop) })
	nasty.Go(func() { s.loseLedgers(stop) })
	if b := s.owners[0].ledger; b.service != nil {
		nasty.Go(func() { b.restartService(stop) })
	}
	for _, o := range s.owners {
		busy.Go(o.runPrograms)
	}
	busy.Wait()
	close(stop)
	nasty.Wait()
	s.endDisturbances()
}

// endDisturbances ends all disturbances and lets MAAS finish its work. Then every owner applies
// twice, one after the other: an owner may have waited for something that another one gives up.
func (s *schedule) endDisturbances() {
	s.note("world", "all is quiet from here on")
	s.quiet.Store(true)
	for _, h := range s.model.Hosts {
		s.setLXD(h.Name, sim.ConditionOK)
	}
	s.setRack(sim.ConditionOK)
	s.checkNoError(s.sim.SetRandomFaults(sim.RandomFaults{Overcommit: true}))
	time.Sleep(5 * time.Minute)
	for range 3 {
		for _, o := range s.owners {
			o.startProgram(true).apply(time.Hour)
		}
	}
	time.Sleep(time.Minute)
	s.witness.observeLXDs()
}

func (s *schedule) checkNoError(err error) {
	if err != nil {
		s.t.Error(err)
	}
}

// note writes an event into the trace.
func (s *schedule) note(who, format string, what ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%10.3fs %-8s %s", time.Since(s.began).Seconds(), who, fmt.Sprintf(format, what...)))
}

func (s *schedule) trace() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.events, "\n")
}

// failSchedule fails the test and says so in the trace.
func (s *schedule) failSchedule(format string, what ...any) {
	s.t.Helper()
	s.note("WRONG", format, what...)
	s.t.Errorf(format, what...)
}

// startProgram starts the owner's program.
func (o *owner) startProgram(calm bool) *programRun {
	o.runs++
	l := &programRun{s: o.s, owner: o, name: fmt.Sprintf("%s.%d", o.name, o.runs), undisturbed: calm, callCounts: map[string]int{}}
	l.startEngine(o.s.t, o.ledger)
	return l
}

var _ http.RoundTripper = (*programRun)(nil)
var _ engine.Ledger = crashableLedger{}
