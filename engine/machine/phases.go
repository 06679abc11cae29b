package machine

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// situation is a phase of a machine, or a special case of a phase.
type situation string

// The situations that are no phase of their own.
const (
	beingTested   situation = "Testing"
	failedRelease situation = "Failed releasing"
	// rescuePassage is on the way into rescue mode or out of it. inRescue is in it, or failed
	// to enter or to leave it. MAAS releases from none of them.
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

// situationOf returns the situation of a machine.
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

// making is a machine on its way to its spec, and returning is one that is being given back.
type (
	reconcileAction struct {
		description string
		// onlyOurs means that somebody else's machine is refused.
		onlyOurs bool
		step     func(b *Kind, ctx context.Context, key engine.Key, want engine.MachineSpec, m engine.Machine, prepare Preparation) (engine.Result[engine.BareMetal], error)
	}
	deleteAction struct {
		description string
		// onlyOurs means that the marks on the machine decide first (giveMachineBack).
		onlyOurs bool
		step     func(b *releaseSteps, ctx context.Context, ref engine.Ref, m engine.Machine) (engine.Result[engine.BareMetal], error)
	}
)

// situationActions says what a step does in a situation.
type situationActions struct {
	situation situation
	reconcile reconcileAction
	delete    deleteAction
}

// situationTable says what a step does with an unfinished machine, and with one that is being
// given back. A finished machine is only reported, and an adopted one is only marked
// (reconcile.go).
func situationTable() []situationActions {
	var (
		allocate = reconcileAction{"allocate", false, (*Kind).allocateAgain}
		install  = reconcileAction{"deploy, or finish", true, (*Kind).install}
		finish   = reconcileAction{"finish", true, (*Kind).finish}
		fail     = reconcileAction{"fail", true, (*Kind).reportFailure}
		wait     = reconcileAction{"wait", false, (*Kind).awaitChange}
		waitOurs = reconcileAction{"wait", true, (*Kind).awaitChange}

		end          = deleteAction{"done", false, (*releaseSteps).finishGiveBack} // nothing of ours is there
		abort        = deleteAction{"abort", true, (*releaseSteps).abort}
		release      = deleteAction{"release", true, (*releaseSteps).release}
		releaseAgain = deleteAction{"release, three times at most", false, (*releaseSteps).releaseAgain}
		exitRescue   = deleteAction{"exit rescue mode, three times at most; turn off what failed to exit", true, (*releaseSteps).exitRescue}
		awaitReturn  = deleteAction{"wait", false, (*releaseSteps).awaitReturn}
	)
	return []situationActions{
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

// actionsIn finds the actions of a situation.
func actionsIn(s situation) situationActions {
	for _, a := range situationTable() {
		if a.situation == s {
			return a
		}
	}
	panic("engine/machine: no act in the phase " + string(s))
}

// Phases is the table of phases, as docs/reference/states.md shows it.
func Phases() []engine.PhaseActs {
	var rows []engine.PhaseActs
	for _, a := range situationTable() {
		rows = append(rows, engine.PhaseActs{In: string(a.situation), Reconcile: a.reconcile.description, Delete: a.delete.description})
	}
	return rows
}
