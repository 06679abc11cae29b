// Package compose makes a VM exactly once, whatever breaks in between.
//
// An [Attempt] reserves room in the ledger, composes, judges what came of it by looking,
// and goes elsewhere or gives up. Its faces are few: [Attempt.Make] and
// [Attempt.Elsewhere] make a VM, [Maker.End] forgets one that is gone, [Maker.Grow] lets
// one take more of its host. The table of outcomes in attempt.go says what follows from
// what a compose answers. docs/design/architecture.md has the three rules that it follows.
package compose

import (
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// Maker makes the VMs of one MAAS. Beside the ports it holds what this process remembers
// of them, which only brakes or informs: what is lost with it costs some calls.
type Maker struct {
	*Finder
	failedComposes *region.Tries    // composes that failed
	sweeps         region.Intervals // looks for what others left
	leftovers      leftovers
}

// Finder finds the VM hosts on which a VM may be made.
type Finder struct {
	engine.Config
	region    *region.Region
	networks  *hostNetworks
	projects  *hostProjects
	restoring region.Intervals // machines of VM hosts that MAAS has lost
}

// New returns a Maker. It makes no call.
func New(cfg engine.Config, in *region.Region) *Maker {
	return &Maker{
		Finder:         &Finder{Config: cfg, region: in, networks: newHostNetworks(cfg.Now), projects: newHostProjects()},
		failedComposes: region.NewTries(),
	}
}

// ComposeRemaining says for how long the compose of a row may still bear fruit.
func (mk *Maker) ComposeRemaining(row engine.Row) time.Duration {
	return mk.region.ComposeRemaining(row, mk.ComposeWindow)
}

// Leftover says what the making of a key's VM by this process left where MAAS does not
// show it, in a sentence's words; empty: nothing.
func (mk *Maker) Leftover(key engine.Key) string { return mk.leftovers.textFor(key) }
