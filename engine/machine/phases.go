package machine

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// situation is a phase of a machine, or a part of one that is treated otherwise.
type situation string

// The situations that are no phase of their own.
const (
	beingTested   situation = "Testing"
	failedRelease situation = "Failed releasing"
	// rescuePassage is on the way into rescue mode or out of it, and inRescue is in it, or
	// failed to enter or to leave it: MAAS releases from none of them.
	rescuePassage situation = "Entering or leaving rescue mode"
	inRescue      situation = "Rescue mode"
)

// The statuses of rescue mode.
const (
	statusRescue               = engine.StatusRescueMode
	statusEnteringRescue       = engine.StatusEnteringRescue
	statusFailedEnteringRescue = engine.StatusFailedEnterRescue
	statusExitingRescue        = engine.StatusExitingRescue
	statusFailedExitingRescue  = engine.StatusFailedExitRescue
)

// situationOf says in which situation a machine is.
func situationOf(m engine.Machine) situation {
	switch m.Status {
	case engine.StatusTesting:
		return beingTested
	case engine.StatusFailedReleasing, engine.StatusFailedDiskErasing:
		return failedRelease
	case statusEnteringRescue, statusExitingRescue:
		return rescuePassage
	case statusRescue, statusFailedEnteringRescue, statusFailedExitingRescue:
		return inRescue
	}
	return situation(m.Status.Phase())
}

// making is a machine on its way to what is wanted, and returning is one on its way back.
type (
	making struct {
		does string
		// ours: somebody else's machine is refused.
		ours bool
		step func(b *Kind, ctx context.Context, key engine.Key, want engine.MachineSpec, m engine.Machine, prepare Preparation) (engine.Result[engine.BareMetal], error)
	}
	returning struct {
		does string
		// ours: the marks on the machine decide first (giveBack).
		ours bool
		step func(b *giving, ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error)
	}
)

// acts is what a step does in a situation.
type acts struct {
	in        situation
	reconcile making
	delete    returning
}

// table says what a step does with a machine that is not finished, and what with one that
// is to be given back. A finished machine is only reported, and an adopted one is only
// marked (reconcile.go).
func table() []acts {
	var (
		allocate = making{"allocate", false, (*Kind).retake}
		install  = making{"deploy, or finish", true, (*Kind).install}
		finish   = making{"finish", true, (*Kind).finish}
		fail     = making{"fail", true, (*Kind).fail}
		wait     = making{"wait", false, (*Kind).await}
		waitOurs = making{"wait", true, (*Kind).await}

		end          = returning{"done", false, (*giving).free} // nothing of ours is there
		abort        = returning{"abort", true, (*giving).abort}
		release      = returning{"release", true, (*giving).release}
		releaseAgain = returning{"release, three times at most", false, (*giving).releaseAgain}
		exitRescue   = returning{"exit rescue mode, three times at most; turn off what failed to exit", true, (*giving).exitRescue}
		awaitReturn  = returning{"wait", false, (*giving).awaitReturn}
	)
	return []acts{
		{situation(engine.PhaseCommissioning), wait, end},
		{beingTested, wait, abort},
		{situation(engine.PhaseReady), allocate, end},
		{situation(engine.PhaseAllocated), install, release},
		{situation(engine.PhaseDeploying), waitOurs, abort},
		{situation(engine.PhaseDeployed), finish, release},
		{situation(engine.PhaseReleasing), wait, awaitReturn},
		{failedRelease, fail, releaseAgain},
		{situation(engine.PhaseFailed), fail, release},
		{rescuePassage, wait, awaitReturn},
		{inRescue, wait, exitRescue},
		{situation(engine.PhaseOther), wait, release},
	}
}

// actsIn finds the acts of a situation.
func actsIn(s situation) acts {
	for _, a := range table() {
		if a.in == s {
			return a
		}
	}
	panic("engine/machine: no act in the phase " + string(s))
}

// Phases is the table of phases, as docs/reference/states.md shows it.
func Phases() []engine.PhaseActs {
	var rows []engine.PhaseActs
	for _, a := range table() {
		rows = append(rows, engine.PhaseActs{In: string(a.in), Reconcile: a.reconcile.does, Delete: a.delete.does})
	}
	return rows
}
