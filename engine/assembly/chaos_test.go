package assembly_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	chaosRuns = flag.Int("chaos.runs", 1000, "how many schedules TestChaos runs")
	chaosSeed = flag.Uint64("chaos.seed", 1, "the seed of TestChaos's first schedule; the others follow it")

	chaosServiceRuns = flag.Int("chaos.service.runs", 10, "how many schedules TestChaosService runs")
)

// figures are what all schedules of a run add up to.
type figures struct {
	schedules, broken, deaths, composes        int
	overCommits, leaks, unseen, doubles, wipes int
	causes                                     map[string]int // of what MAAS does not show
	restarts, lost                             int            // of a ledger service, and of its requests and replies
}

// String is the line that is printed at the end.
func (f figures) String() string {
	service := ""
	if f.restarts+f.lost > 0 {
		service = fmt.Sprintf(", %d deaths of the ledger service, %d of its requests and replies lost", f.restarts, f.lost)
	}
	return fmt.Sprintf("%d schedules, %d broken calls survived, %d deaths, %d composes%s, over-commits %d, leaks %d (+ unseen by MAAS %d), doubles %d, wipes %d",
		f.schedules, f.broken, f.deaths, f.composes, service, f.overCommits, f.leaks, f.unseen, f.doubles, f.wipes)
}

// add takes the figures of one schedule.
func (f *figures) add(g figures) {
	f.schedules++
	f.broken += g.broken
	f.deaths += g.deaths
	f.composes += g.composes
	f.overCommits += g.overCommits
	f.leaks += g.leaks
	f.unseen += g.unseen
	f.doubles += g.doubles
	f.wipes += g.wipes
	f.restarts += g.restarts
	f.lost += g.lost
	for cause, n := range g.causes {
		f.causes[cause] += n
	}
}

// TestChaos lets two owners and a nasty MAAS loose on each other, one random schedule after the
// other. When all is quiet again, there is one VM for each wanted one, and nothing else is left
// that MAAS could show. No host ever held more than it has, and nothing that ran was touched.
func TestChaos(t *testing.T) {
	runSchedules(t, *chaosRuns, "-chaos.runs=1", (*schedule).newOwners)
}

// TestChaosService is TestChaos with three owners, one of whom is as a manager, who use one
// ledger service over HTTPS. The service dies and loses replies, too.
func TestChaosService(t *testing.T) {
	runSchedules(t, *chaosServiceRuns, "-chaos.service.runs=1", func(s *schedule, _ *rand.Rand) { s.newServiceOwners() })
}

// runSchedules plays so many schedules from -chaos.seed on. repeat is the flag that has one
// of them played.
func runSchedules(t *testing.T, runs int, repeat string, owners func(*schedule, *rand.Rand)) {
	var (
		mu  sync.Mutex
		all = figures{causes: map[string]int{}}
	)
	name := t.Name()
	t.Cleanup(func() { // after the parallel ones
		t.Log(all)
		for cause, n := range all.causes {
			t.Logf("unseen by MAAS, %d times: %s", n, cause)
		}
	})
	for n := range runs {
		seed := *chaosSeed + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSchedule(t, seed, owners)
				s.run()
				s.checkOutcome()
				mu.Lock()
				defer mu.Unlock()
				all.add(s.witness.figures)
				if t.Failed() {
					t.Logf("repeat it with: go test ./engine/assembly -run '^%s$' %s -chaos.seed=%d\n%s", name, repeat, seed, s.trace())
				}
			})
		})
	}
}
