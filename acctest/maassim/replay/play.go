package replay

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// Play replays a story in a simulator of its own and compares. A nil model is
// [WorldOf] the story. What the recording does not tell is inferred from its
// answers. It waits as long as the story took, so call it in a bubble of
// [synctest] or through [InVirtualTime].
func Play(story recording.Story, model *sim.Model) (o Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot replay %s: %v", story.Name, r)
		}
	}()
	o, err = play(story, model, nil, nil)
	if err != nil {
		err = fmt.Errorf("cannot replay %s: %w", story.Name, err)
	}
	return o, err
}

// play replays a story in the time of its caller.
func play(story recording.Story, model *sim.Model, scenes map[int]scene, together map[int]int) (Outcome, error) {
	world, err := WorldOf(story)
	if err != nil {
		return Outcome{}, err
	}
	if model != nil {
		world = *model
	}
	if len(world.Hosts) == 0 {
		return Outcome{}, errors.New("the world has no LXD: give the model a host")
	}
	p, err := newPlayer(story.Exchanges, world)
	if err != nil {
		return Outcome{}, err
	}
	defer p.world.Close()
	p.scenes, p.together = scenes, together
	p.run()
	o := outcome(story.Name, story.Exchanges, p.problems)
	o.Inferred = p.notes
	return o, nil
}

// InVirtualTime runs a function in a bubble of synctest, whose time passes as
// soon as all in it wait, and ends the process with the code that it returns.
// Hours of a story take a moment. Package testing offers bubbles to tests alone,
// so the function runs as the only test of a process.
func InVirtualTime(f func() int) {
	os.Args = os.Args[:1] // package testing would read them
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "InVirtualTime", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) { os.Exit(f()) })
	}}}, nil, nil)
}
