package machines

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// restorable is 409 unless the machine is in a state in which its configuration
// can be restored.
func restorable(m *world.Machine, what string) *rest.Reply {
	if world.OneOf(m.Status, world.StatusReady, world.StatusFailedTesting) {
		return nil
	}
	bad := rest.Conflict("Machine must be in a ready or failed testing state to restore " + what)
	return &bad
}

func restoreStorage(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := restorable(m, "storage configuration."); bad != nil {
		return *bad
	}
	lifecycle.LayOut(m)
	return machineReply(m)
}

func restoreNetwork(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := restorable(m, "networking configuration"); bad != nil {
		return *bad
	}
	resetNetwork(m)
	return machineReply(m)
}

func restoreAll(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := restorable(m, "default networking and storage configuration."); bad != nil {
		return *bad
	}
	lifecycle.LayOut(m)
	resetNetwork(m)
	return machineReply(m)
}

// resetNetwork leaves the interfaces that commissioning found, as it linked them.
func resetNetwork(m *world.Machine) {
	lifecycle.FindNICs(m)
	m.GatewayLink = nil
	m.Unlink()
	m.AutoLinks()
}

// clearGateways makes MAAS choose the machine's gateways itself.
func clearGateways(_ *request.Call, m *world.Machine) rest.Reply {
	m.GatewayLink = nil
	return machineReply(m)
}
