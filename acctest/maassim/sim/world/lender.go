package world

import (
	"context"
	"net"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// Lender has real LXDs, for machines and hosts whose LXD is not to be simulated.
type Lender interface {
	// Lend gives an LXD that nobody else has, on a machine like this one, with
	// its storage pools and nothing else made. It may take seconds.
	Lend(LXDMachine) (RealLXD, error)
}

// LXDMachine is the machine of an LXD, as that is to see it.
type LXDMachine struct {
	Name      string
	Cores     int
	MemoryMiB int64
	// StoragePools may get another driver than they have here.
	StoragePools []daemon.StoragePool
	Bridges      []LXDBridge
}

// LXDBridge is an interface of an LXD's machine that VMs can join, and which LXD
// does not manage.
type LXDBridge struct {
	Name, MAC string
	Addresses []string // as 10.0.0.2/24
}

// RealLXD is an LXD that was lent.
type RealLXD interface {
	// Dial connects to its API, over which the client speaks TLS.
	Dial(context.Context) (net.Conn, error)
	// DialAdmin connects to its socket, which trusts everybody.
	DialAdmin(context.Context) (net.Conn, error)
	// CanBoot says whether VMs can be started there. Where they cannot, the
	// simulator takes them as started, and asks LXD for all else.
	CanBoot() bool
	// Return gives it back: nothing is kept.
	Return()
}

// LentLXD is a real LXD in the place of a simulated one. What the simulator knows of
// its instances is what it has listed last.
type LentLXD interface {
	// SyncInstances makes what is known of its instances agree with what it lists now.
	SyncInstances()
	// MakeProject makes a project as MAAS does, unless it is there.
	MakeProject(name string) error
	// Remove removes an instance with its volumes; what fails stays.
	Remove(i *Instance)
	// CanBoot says whether VMs can be started there.
	CanBoot() bool
	// SetRunning starts or stops an instance.
	SetRunning(i *Instance, on bool)
	// Identity is what it shows to clients.
	Identity() *Identity
	// GiveBack returns it. What was last seen of it stays.
	GiveBack()
}
