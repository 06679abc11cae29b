package workload

import (
	"context"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// Site is the MAAS whose machines are simulated. After an error nothing is
// known, and the machines stay as they are.
type Site interface {
	// Machines are the simulated ones. Each has its id, name, status, power
	// state, addresses and image.
	Machines(ctx context.Context) ([]sim.Machine, error)
	// UserData is what MAAS serves to a Deployed machine.
	UserData(ctx context.Context, systemID string) ([]byte, error)
	// Resolve finds the addresses of a name in MAAS's DNS. For an unknown name
	// it returns none.
	Resolve(ctx context.Context, name string) ([]string, error)
}

// Simulated is a simulator in this process.
type Simulated struct{ Sim *sim.Sim }

var _ Site = Simulated{}

// Machines are those of the simulator.
func (s Simulated) Machines(context.Context) ([]sim.Machine, error) { return s.Sim.Machines(), nil }

// UserData is that of the simulator's machine.
func (s Simulated) UserData(_ context.Context, systemID string) ([]byte, error) {
	return s.Sim.UserData(systemID)
}

// Resolve asks the simulator's DNS.
func (s Simulated) Resolve(_ context.Context, name string) ([]string, error) {
	return s.Sim.Resolve(name), nil
}
