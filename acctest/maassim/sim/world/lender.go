package world

import (
	"context"
	"net"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// Lender lends real LXDs to machines and hosts whose LXD is not simulated.
type Lender interface {
	// Lend provides an LXD that nobody else uses, on a machine like the given one. It has
	// the given storage pools and no other objects. Lend may take seconds.
	Lend(LXDMachine) (RealLXD, error)
}

// LXDMachine is the machine that an LXD sees.
type LXDMachine struct {
	Name      string
	Cores     int
	MemoryMiB int64
	// StoragePools may get another driver in the real LXD.
	StoragePools []daemon.StoragePool
	Bridges      []LXDBridge
}

// LXDBridge is a bridge on an LXD's machine that VMs can join. LXD does not manage it.
type LXDBridge struct {
	Name, MAC string
	Addresses []string // as 10.0.0.2/24
}

// RealLXD is an LXD that was lent.
type RealLXD interface {
	// Dial connects to its API. The client does TLS on the connection.
	Dial(context.Context) (net.Conn, error)
	// DialAdmin connects to its Unix socket, which trusts everybody.
	DialAdmin(context.Context) (net.Conn, error)
	// CanBoot tells whether VMs can start there. If they cannot, the simulator treats them
	// as started, and still asks LXD for everything else.
	CanBoot() bool
	// Return gives the LXD back. Everything in it is lost.
	Return()
}

// LentLXD is a real LXD in place of a simulated one. The simulator knows its instances
// from the last list.
type LentLXD interface {
	// SyncInstances updates the known instances from its current list.
	SyncInstances()
	// MakeProject makes a project as MAAS does, unless it exists.
	MakeProject(name string) error
	// Remove removes an instance with its volumes. If removing one fails, it stays.
	Remove(i *Instance)
	// CanBoot tells whether VMs can start there.
	CanBoot() bool
	// SetRunning starts or stops an instance.
	SetRunning(i *Instance, on bool)
	// Identity is its server certificate.
	Identity() *Identity
	// GiveBack returns the LXD. The simulator keeps the last known instances.
	GiveBack()
}
