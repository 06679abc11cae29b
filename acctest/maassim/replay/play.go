package replay

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// PlayStory replays a story in a simulator of its own and compares the answers. Without a
// model it uses [WorldOf] the story. It infers from the answers what the recording does
// not show. It waits as long as the story took, so call it in a bubble of [synctest] or
// through [InVirtualTime].
func PlayStory(story recording.Story, model *sim.Model) (Outcome, error) {
	o, err := playWithHooks(story, model, hooks{})
	if err != nil {
		err = fmt.Errorf("cannot replay %s: %w", story.Name, err)
	}
	return o, err
}

// playWithHooks replays a story on the caller's clock.
func playWithHooks(story recording.Story, model *sim.Model, known hooks) (Outcome, error) {
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
	exchanges, left := answeredByMAAS(story.Exchanges)
	p, err := newPlayer(exchanges, world)
	if err != nil {
		return Outcome{}, err
	}
	defer p.world.Close()
	p.hooks = known
	p.run()
	o := newOutcome(story.Name, exchanges, p.problems)
	o.Inferences = p.notes
	for i := range o.Comparisons {
		o.Comparisons[i].Inferred = p.inferred[i]
	}
	if left > 0 {
		o.Inferences = append(o.Inferences, fmt.Sprintf("%d exchanges are left out: a proxy answered in MAAS's place, or MAAS's own installation was broken", left))
	}
	return o, nil
}

// brokenInstallation matches MAAS's messages about its own incomplete installation.
var brokenInstallation = regexp.MustCompile(`^"Failed to render preseed: `)

// answeredByMAAS drops and counts the exchanges that MAAS itself did not answer, such as
// those that a proxy answered while MAAS started. It also drops failures of MAAS's own
// installation.
func answeredByMAAS(all []recording.Exchange) (answered []recording.Exchange, left int) {
	for _, e := range all {
		isProxy := e.Response.Status == http.StatusBadGateway || e.Response.Status == http.StatusGatewayTimeout
		if isProxy && strings.HasPrefix(e.Response.Headers["Content-Type"], "text/html") {
			left++
			continue
		}
		if !e.OK() && brokenInstallation.Match(e.Response.Body) {
			left++
			continue
		}
		answered = append(answered, e)
	}
	return answered, left
}

// InVirtualTime runs a function in a bubble of synctest and ends the process with the code
// that it returns. In a bubble, time passes as soon as all goroutines wait, so hours of a
// story take a moment. Package testing offers bubbles to tests only, so the function runs
// as the only test of a process.
func InVirtualTime(f func() int) {
	os.Args = os.Args[:1] // package testing would read the flags
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "InVirtualTime", F: func(t *testing.T) {
		synctest.Test(t, func(*testing.T) { os.Exit(f()) })
	}}}, nil, nil)
}
