package host

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// situation is the progress of a host whose machine is Deployed. Until then its phases are
// those of a machine (package machine).
type situation string

// The situations.
const (
	noVMHost    situation = "No VM host"
	noInventory situation = "VM host without inventory"
	withVMHost  situation = "VM host"
)

// situationOf returns the situation of a host by its VM host. The answer to a registration does
// not tell whether MAAS has seen the LXD and its hardware.
func situationOf(record engine.VMHost, found bool) situation {
	switch {
	case !found:
		return noVMHost
	case record.Version == "", record.Cores.Total == 0, record.MemoryMiB.Total == 0, len(record.StoragePools) == 0, record.MachineID == "":
		return noInventory
	}
	return withVMHost
}

// making is a host on its way to its spec, and returning is one that is being given back.
type (
	reconcileAction struct {
		description string
		step        func(h *registrationSteps, ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error)
	}
	deleteAction struct {
		description string
		step        func(h *deleteSteps, ctx context.Context, ref engine.Ref, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error)
	}
)

// situationActions says what a step does in a situation.
type situationActions struct {
	situation situation
	reconcile reconcileAction
	delete    deleteAction
}

// situationTable says what a step does with a host whose machine is Deployed, and with one that
// is being removed.
func situationTable() []situationActions {
	var (
		register = reconcileAction{"register", (*registrationSteps).register}
		refresh  = reconcileAction{"refresh", (*registrationSteps).awaitInventory}
		settle   = reconcileAction{"settle, finish", (*registrationSteps).reconcileVMHost}

		giveBack   = deleteAction{"give the machine back", (*deleteSteps).giveMachineBack}
		unregister = deleteAction{"remove the VM host", (*deleteSteps).unregister}
	)
	return []situationActions{
		{noVMHost, register, giveBack},
		{noInventory, refresh, unregister},
		{withVMHost, settle, unregister},
	}
}

// actionsIn finds the actions of a situation.
func actionsIn(s situation) situationActions {
	for _, a := range situationTable() {
		if a.situation == s {
			return a
		}
	}
	panic("engine/host: no act for a host with " + string(s))
}

// Phases is the table of phases, as docs/reference/states.md shows it.
func Phases() []engine.PhaseActs {
	var rows []engine.PhaseActs
	for _, a := range situationTable() {
		rows = append(rows, engine.PhaseActs{In: string(a.situation), Reconcile: a.reconcile.description, Delete: a.delete.description})
	}
	return rows
}
