package advice

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestWaysAreKnown: each way of the engine has words here, or is known not to exist.
func TestWaysAreKnown(t *testing.T) {
	t.Parallel()
	for _, way := range engine.AllWays {
		if _, known := ways[way]; !known {
			t.Errorf("the bridge does not know the way %q", way)
		}
	}
	if len(ways) != len(engine.AllWays) {
		t.Errorf("the bridge knows %d ways, and the engine %d", len(ways), len(engine.AllWays))
	}
}

// TestJoin: a way without words adds nothing.
func TestJoin(t *testing.T) {
	t.Parallel()
	const flag = "Or start the manager with --composer=lxd, which makes VMs in LXD itself."
	if got, want := JoinHint("Leave it out.", []engine.Way{engine.WayRetry, engine.WayComposeInLXD}), "Leave it out. "+flag; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := JoinHint("", []engine.Way{engine.WayImport.ForMachine("abc")}); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
