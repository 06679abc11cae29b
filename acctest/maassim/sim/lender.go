package sim

import (
	"context"
	"net"
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
	StoragePools []StoragePoolModel
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
	// Administer connects to its socket, which trusts everybody.
	Administer(context.Context) (net.Conn, error)
	// Boots says whether VMs can be started there. Where they cannot, the
	// simulator takes them as started, and asks LXD for all else.
	Boots() bool
	// Return gives it back: nothing is kept.
	Return()
}

// Option changes a simulator beyond its model.
type Option func(*Sim)

// WithLXDs lets a simulator borrow real LXDs, for the hosts of its model and for
// the machines whose user-data sets one up: what MAAS or its clients do there is
// done to them, over TLS from end to end, and what is seen there is what they
// say. Faults, delays and the journal know simulated ones only.
func WithLXDs(l Lender) Option { return func(s *Sim) { s.lender = l } }
