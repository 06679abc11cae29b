// Package compose makes a VM exactly once, whatever breaks in between.
//
// An [Attempt] reserves room in the ledger, composes, and looks at the result. Then it is done,
// tries another host, or gives up. [Attempt.MakeVM] and [Attempt.MakeOnOtherHost] make a VM.
// [Maker.ForgetVM] forgets one that is gone, and [Maker.GrowVM] lets one take more of its host.
// The table of verdicts in attempt.go says what follows from each answer. docs/design/architecture.md
// has the three rules behind it.
package compose

import (
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// Maker makes the VMs of one MAAS. Beside the ports it holds what this process remembers of
// them. That only slows or informs: if it is lost, the price is some calls.
type Maker struct {
	*Finder
	failedComposes *region.Tries    // composes that failed
	sweeps         region.Intervals // looks for what other runs left
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

// ComposeRemaining says for how long the compose of a row may still make its VM.
func (mk *Maker) ComposeRemaining(row engine.Row) time.Duration {
	return mk.region.ComposeRemaining(row, mk.ComposeWindow)
}

// Leftover describes what this process left when it made a key's VM, where MAAS does not show
// it. The text fits into a sentence; empty: nothing.
func (mk *Maker) Leftover(key engine.Key) string { return mk.leftovers.textFor(key) }
