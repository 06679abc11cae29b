package endpoint

import (
	"net/netip"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// ServingAddresses returns the addresses of the machines that serve the API, or
// will.
//
// A machine that was never provisioned counts only while no machine was
// provisioned: the first machine must find itself by the name while it is
// deployed. A provisioned machine ends that, even if its addresses are unknown
// or it is lost.
//
// A machine that is down counts only while all are down. MAAS is wrong about
// that at times, and a name without addresses helps nobody.
func ServingAddresses(machines []infrav1.MaasMachine, subnets []netip.Prefix) []netip.Addr {
	if !HasControlPlaneMachine(machines, IsProvisionedNotDeleting) {
		return ControlPlaneAddresses(machines, subnets, func(m *infrav1.MaasMachine) bool {
			return m.DeletionTimestamp.IsZero() && HasFinalAddress(m) && !IsLost(m)
		})
	}
	up := ControlPlaneAddresses(machines, subnets, func(m *infrav1.MaasMachine) bool { return IsServing(m) && !IsDown(m) })
	if len(up) > 0 {
		return up
	}
	return ControlPlaneAddresses(machines, subnets, IsServing)
}

// IsProvisionedNotDeleting reports whether a machine was deployed once and is
// not being deleted.
func IsProvisionedNotDeleting(m *infrav1.MaasMachine) bool {
	return m.DeletionTimestamp.IsZero() && IsProvisioned(m)
}

// IsServing reports whether a machine was deployed once and still belongs to
// the cluster.
func IsServing(m *infrav1.MaasMachine) bool { return IsProvisionedNotDeleting(m) && !IsLost(m) }

// IsDown reports whether a machine that was deployed once seems not to run. At
// the last look it was switched off, Broken, in rescue mode or tested.
func IsDown(m *infrav1.MaasMachine) bool {
	switch conditions.GetReason(m, infrav1.MachineDeployedCondition) {
	case infrav1.MachinePoweredOffReason, infrav1.MachineStateUndefinedReason:
		return IsProvisioned(m)
	}
	return false
}

// HasFinalAddress reports whether a machine is being deployed and has its
// lasting address. Before MAAS switches it on for that, it may have its address
// from commissioning.
func HasFinalAddress(m *infrav1.MaasMachine) bool {
	deploys := []infrav1.MachineState{"Deploying", "Deployed"}
	return m.Status.MachinePowered && slices.Contains(deploys, ptr.Deref(m.Status.MachineState, ""))
}

// IsProvisioned reports whether a machine was deployed once.
func IsProvisioned(m *infrav1.MaasMachine) bool {
	return ptr.Deref(m.Status.Initialization.Provisioned, m.Status.Ready)
}

// IsLost reports whether a machine no longer belonged to the cluster at the
// last look: it is somebody else's, was released, or is gone. Its addresses may
// belong to anybody.
func IsLost(m *infrav1.MaasMachine) bool {
	switch conditions.GetReason(m, infrav1.MachineDeployedCondition) {
	case infrav1.ConflictReason, infrav1.MachineReleasedReason, infrav1.MachineNotFoundReason:
		return true
	}
	return false
}
