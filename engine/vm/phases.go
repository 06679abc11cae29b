package vm

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// situation is a phase of a VM's machine, or a special case of a phase.
type situation string

// The situations that are no phase of their own.
const (
	// newRecord is a machine that was never commissioned.
	newRecord situation = "New"
	// newborn is Ready and carries its birth mark: compose has just made it.
	newborn situation = "Newborn"
	// formerInstallation is a VM that needs another installation than its present one, or than
	// the one that failed.
	formerInstallation situation = "Deployed, or failed since, to be deployed again"
	// failedBeforeReady is a machine on which nothing has run. A machine with the note that it
	// was finished once is none.
	failedBeforeReady situation = "Failed before Ready"
)

// situationOf returns the situation of a VM. Only the birth mark tells that it is newborn; the
// first commissioning removes the mark.
func situationOf(m engine.Machine, hasBirthMark bool) situation {
	phase := m.Status.Phase()
	switch {
	case m.Status == engine.StatusNew:
		return newRecord
	case phase == engine.PhaseReady && hasBirthMark:
		return newborn
	case m.Status == engine.StatusFailedCommissioning, m.Status == engine.StatusFailedTesting:
		return failedBeforeReady
	}
	return situation(phase)
}

// lacksInstallation tells whether the spec wants another installation than the one that the VM
// notes. The note changes once the VM is Ready, before it is deployed (settingsUpdate).
func lacksInstallation(want engine.VMSpec, m engine.Machine) bool {
	return want.Installation != "" && engine.InstallationIn(m.Description) != want.Installation
}

// needsReinstall tells whether to release a VM so that it gets another installation. That is a
// VM that is Deployed with a former one, or that failed since. If it failed after this process
// released it, that is reported instead.
func (v *Kind) needsReinstall(want engine.VMSpec, m engine.Machine) bool {
	switch m.Status {
	case engine.StatusDeployed:
		return lacksInstallation(want, m)
	case engine.StatusFailedDeployment, engine.StatusFailedReleasing, engine.StatusFailedDiskErasing:
		return want.Installation != "" && !v.releases.hasReleased(want, m)
	default:
		return false
	}
}

// situationToReconcile returns the situation of a VM that is to be brought to its spec.
func (v *Kind) situationToReconcile(want engine.VMSpec, m engine.Machine, hasBirthMark bool) situation {
	if v.needsReinstall(want, m) {
		return formerInstallation
	}
	return situationOf(m, hasBirthMark)
}

// making is a VM on its way to its spec, and removing is a VM that is being deleted.
type (
	reconcileAction struct {
		description string
		step        func(v *Kind, ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error)
	}
	deleteAction struct {
		description string
		step        func(v *deleteSteps, ctx context.Context, ref engine.Ref, row engine.Row, m engine.Machine) (engine.Result[engine.VM], error)
	}
)

// situationActions says what a step does in a situation.
type situationActions struct {
	situation situation
	reconcile reconcileAction
	delete    deleteAction
}

// situationTable says what a step does with an unfinished VM, and with one that is being
// deleted. A finished VM is only settled (reconcile.go).
func situationTable() []situationActions {
	var (
		commission = reconcileAction{"commission", (*Kind).commission}
		install    = reconcileAction{"deploy, or finish", (*Kind).install}
		finish     = reconcileAction{"finish", (*Kind).finish}
		reinstall  = reconcileAction{"release", (*Kind).reinstall}
		move       = reconcileAction{"make elsewhere", (*Kind).moveToOtherHost}
		fail       = reconcileAction{"fail", (*Kind).reportFailure}
		wait       = reconcileAction{"wait", (*Kind).awaitChange}

		remove      = deleteAction{"power off, delete", (*deleteSteps).powerOffAndDelete}
		abort       = deleteAction{"abort", (*deleteSteps).abort}
		release     = deleteAction{"release", (*deleteSteps).release}
		awaitReturn = deleteAction{"wait", (*deleteSteps).awaitRelease}
	)
	return []situationActions{
		{newRecord, commission, remove},
		{situation(engine.PhaseCommissioning), wait, abort},
		{newborn, commission, remove},
		{situation(engine.PhaseReady), install, remove},
		{situation(engine.PhaseAllocated), install, release},
		{situation(engine.PhaseDeploying), wait, abort},
		{situation(engine.PhaseDeployed), finish, release},
		{formerInstallation, reinstall, release},
		{situation(engine.PhaseReleasing), wait, awaitReturn},
		{failedBeforeReady, move, remove},
		{situation(engine.PhaseFailed), fail, remove},
		{situation(engine.PhaseOther), wait, remove},
	}
}

// actionsIn finds the actions of a situation.
func actionsIn(s situation) situationActions {
	for _, a := range situationTable() {
		if a.situation == s {
			return a
		}
	}
	panic("engine/vm: no act in the phase " + string(s))
}

// Phases is the table of phases, as docs/reference/states.md shows it.
func Phases() []engine.PhaseActs {
	var rows []engine.PhaseActs
	for _, a := range situationTable() {
		rows = append(rows, engine.PhaseActs{In: string(a.situation), Reconcile: a.reconcile.description, Delete: a.delete.description})
	}
	return rows
}
