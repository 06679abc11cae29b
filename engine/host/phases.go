package host

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// situation is how far a host has come whose machine is Deployed. Until then its phases
// are those of a machine (package machine).
type situation string

// The situations.
const (
	noVMHost    situation = "No VM host"
	noInventory situation = "VM host without inventory"
	withVMHost  situation = "VM host"
)

// situationOf says in which situation a host is, by its VM host. The answer to a
// registration says neither whether MAAS has seen the LXD nor its hardware.
func situationOf(record engine.VMHost, found bool) situation {
	switch {
	case !found:
		return noVMHost
	case record.Version == "", record.Cores.Total == 0, record.MemoryMiB.Total == 0, len(record.StoragePools) == 0, record.MachineID == "":
		return noInventory
	}
	return withVMHost
}

// making is a host on its way to what is wanted, and returning is one on its way back.
type (
	making struct {
		does string
		step func(h *registration, ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error)
	}
	returning struct {
		does string
		step func(h *removal, ctx context.Context, ref engine.Ref, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error)
	}
)

// acts is what a step does in a situation.
type acts struct {
	in        situation
	reconcile making
	delete    returning
}

// table says what a step does with a host whose machine is Deployed, and what with one
// that is to go.
func table() []acts {
	var (
		register = making{"register", (*registration).register}
		refresh  = making{"refresh", (*registration).awaitInventory}
		settle   = making{"settle, finish", (*registration).known}

		giveBack   = returning{"give the machine back", (*removal).giveBack}
		unregister = returning{"remove the VM host", (*removal).unregister}
	)
	return []acts{
		{noVMHost, register, giveBack},
		{noInventory, refresh, unregister},
		{withVMHost, settle, unregister},
	}
}

// actsIn finds the acts of a situation.
func actsIn(s situation) acts {
	for _, a := range table() {
		if a.in == s {
			return a
		}
	}
	panic("engine/host: no act for a host with " + string(s))
}

// Phases is the table of phases, as docs/reference/states.md shows it.
func Phases() []engine.PhaseActs {
	var rows []engine.PhaseActs
	for _, a := range table() {
		rows = append(rows, engine.PhaseActs{In: string(a.in), Reconcile: a.reconcile.does, Delete: a.delete.does})
	}
	return rows
}
