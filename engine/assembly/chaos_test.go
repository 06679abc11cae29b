package assembly_test

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	chaosRuns = flag.Int("chaos.runs", 1000, "how many schedules TestChaos runs")
	chaosSeed = flag.Uint64("chaos.seed", 1, "the seed of TestChaos's first schedule; the others follow it")
)

// figures are what all schedules of a run add up to.
type figures struct {
	schedules, broken, deaths, composes        int
	overCommits, leaks, unseen, doubles, wipes int
	causes                                     map[string]int // of what MAAS does not show
}

// String is the line that is printed at the end.
func (f figures) String() string {
	return fmt.Sprintf("%d schedules, %d broken calls survived, %d deaths, %d composes, over-commits %d, leaks %d (+ unseen by MAAS %d), doubles %d, wipes %d",
		f.schedules, f.broken, f.deaths, f.composes, f.overCommits, f.leaks, f.unseen, f.doubles, f.wipes)
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
	for cause, n := range g.causes {
		f.causes[cause] += n
	}
}

// TestChaos lets two owners and a nasty MAAS loose on each other, one random
// schedule after the other. Whatever happened, when all is quiet again there
// is one VM for each one that is wanted, nothing else is left that MAAS could
// show, no host ever held more than it has, and nothing that ran was touched.
func TestChaos(t *testing.T) {
	var (
		mu  sync.Mutex
		all = figures{causes: map[string]int{}}
	)
	t.Cleanup(func() { // after the parallel ones
		t.Log(all)
		for cause, n := range all.causes {
			t.Logf("unseen by MAAS, %d times: %s", n, cause)
		}
	})
	for n := range *chaosRuns {
		seed := *chaosSeed + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSchedule(t, seed)
				s.run()
				s.judge()
				mu.Lock()
				defer mu.Unlock()
				all.add(s.witness.figures)
				if t.Failed() {
					t.Logf("repeat it with: go test ./engine/assembly -run '^TestChaos$' -chaos.runs=1 -chaos.seed=%d\n%s", seed, s.trace())
				}
			})
		})
	}
}
