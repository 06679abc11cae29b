package machines

import (
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lifecycle"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// notRestorableReply is 409 unless the machine's status allows to restore its
// configuration.
func notRestorableReply(m *world.Machine, what string) *rest.Reply {
	if world.IsStatusIn(m.Status, world.StatusReady, world.StatusFailedTesting) {
		return nil
	}
	bad := rest.ConflictReply("Machine must be in a ready or failed testing state to restore " + what)
	return &bad
}

func restoreStorage(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := notRestorableReply(m, "storage configuration."); bad != nil {
		return *bad
	}
	lifecycle.ApplyDefaultLayout(m)
	return machineReply(m)
}

func restoreNetwork(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := notRestorableReply(m, "networking configuration"); bad != nil {
		return *bad
	}
	resetNetwork(m)
	return machineReply(m)
}

func restoreAll(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := notRestorableReply(m, "default networking and storage configuration."); bad != nil {
		return *bad
	}
	lifecycle.ApplyDefaultLayout(m)
	resetNetwork(m)
	return machineReply(m)
}

// resetNetwork restores the interfaces and links that commissioning found.
func resetNetwork(m *world.Machine) {
	lifecycle.UpdateNICs(m)
	m.GatewayLink = nil
	m.RemoveLinks()
	m.ResetLinks()
}

// clearGateways lets MAAS choose the machine's gateways.
func clearGateways(_ *request.Call, m *world.Machine) rest.Reply {
	m.GatewayLink = nil
	return machineReply(m)
}
