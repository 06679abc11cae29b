package share

import (
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

func TestPace(t *testing.T) {
	t.Parallel()
	clock := time.Unix(0, 0)
	at := func(s float64) { clock = time.Unix(0, int64(s*1e9)) }
	p := newPhasePredictor(func() time.Time { return clock }, 5*time.Second)
	due := func(id string) float64 { return float64(p.nextPoll(id).UnixNano()) / 1e9 }
	want := func(what string, got, least, most float64) {
		t.Helper()
		if got < least || got > most {
			t.Errorf("%s: due at %.2f s, want %.2f to %.2f", what, got, least, most)
		}
	}

	p.notePhase("stranger", engine.PhaseCommissioning)
	want("what was begun by others is looked at every interval", due("stranger"), 5, 5)

	p.noteStart("a", engine.PhaseCommissioning)
	p.noteStart("e", engine.PhaseCommissioning)
	want("the first machine in a phase is looked at soon", due("a"), 2.5, 2.5)
	want("the others an interval after they began", due("e"), 5, 5)
	at(1e-4)
	p.notePhaseExpected("a", engine.PhaseCommissioning)
	want("who began it and waits for it has not looked at it", due("a"), 2.5, 2.5)
	at(20)
	p.notePhase("a", engine.PhaseCommissioning)
	want("then they come every interval", due("a"), 25, 25)
	at(22)
	p.notePhase("a", engine.PhaseReady)

	at(100)
	p.noteStart("b", engine.PhaseCommissioning)
	want("a look comes a little before the last machine was through, and others at intervals before it", due("b"), 101.5, 106.5)
	for _, s := range []float64{106.5, 111.5, 116.5} {
		at(s)
		p.notePhase("b", engine.PhaseCommissioning)
		p.noteUnchanged("b")
	}
	want("the last of them", due("b"), 121.4, 121.6)
	at(121.5)
	p.notePhase("b", engine.PhaseCommissioning)
	p.noteUnchanged("b")
	want("one that came too early is repeated soon", due("b"), 122, 122)
	for _, s := range []float64{122, 122.5} {
		at(s)
		p.notePhase("b", engine.PhaseCommissioning)
		p.noteUnchanged("b")
	}
	want("but not for ever", due("b"), 127.5, 127.5)

	p.noteStart("c", engine.PhaseDeploying)
	want("another phase has its own time", due("c"), 125, 130)
	at(122.5 + 2*3600)
	p.notePhase("d", engine.PhaseReady)
	if len(p.visits) != 1 {
		t.Errorf("%d machines are remembered, want the one that was seen in the last hour", len(p.visits))
	}
}

// TestPhaseBecomesSlower: after many releases of 2 s, MAAS needs 20 s for each. The polls that are
// then too early are few for each machine, and end once a quarter of the kept durations are new.
func TestPhaseBecomesSlower(t *testing.T) {
	t.Parallel()
	clock := time.Unix(0, 0)
	p := newPhasePredictor(func() time.Time { return clock }, 5*time.Second)
	release := func(took time.Duration) (tooEarly int) {
		p.noteStart("a", engine.PhaseReleasing)
		began := clock
		for {
			clock = p.nextPoll("a")
			if clock.Sub(began) >= took {
				p.notePhase("a", engine.PhaseReady)
				return tooEarly
			}
			p.notePhase("a", engine.PhaseReleasing)
			p.noteUnchanged("a")
			tooEarly++
		}
	}
	for range maxDurations {
		release(2 * time.Second)
	}
	if got := release(2 * time.Second); got > 1 {
		t.Errorf("%d polls came too early where all releases took as long, want one at most", got)
	}
	const intervals = 20 / 5 // what polls at every interval would need
	slowMachines := 0
	for ; slowMachines <= 2*maxDurations; slowMachines++ {
		switch got := release(20 * time.Second); {
		case got > intervals+maxClosePolls+1:
			t.Fatalf("%d polls came too early for slow machine %d, want %d at most", got, slowMachines, intervals+maxClosePolls+1)
		case got <= intervals:
			if slowMachines > maxDurations*3/4 {
				t.Errorf("the predictor needed %d slow machines to learn, want %d at most", slowMachines, maxDurations*3/4)
			}
			return
		}
	}
	t.Error("the predictor never learned that releases became slower")
}
