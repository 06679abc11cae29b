package endpoint

import (
	"net/netip"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// ServingAddresses are those of the machines that serve the API, or will. One
// that was never provisioned counts only as long as none was: the first one must
// find itself by that name while it is being deployed. A provisioned one counts
// for that even while none of its addresses is known, or it is lost. One that is down
// counts only while all are: MAAS is wrong about that at times, and a name that points
// to nobody helps nobody.
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

// IsProvisionedNotDeleting tells that a machine was deployed once, and is not being deleted.
func IsProvisionedNotDeleting(m *infrav1.MaasMachine) bool {
	return m.DeletionTimestamp.IsZero() && IsProvisioned(m)
}

// IsServing tells that a machine was deployed once, and is still the cluster's.
func IsServing(m *infrav1.MaasMachine) bool { return IsProvisionedNotDeleting(m) && !IsLost(m) }

// IsDown tells that a machine which was deployed once seems not to run, as far as was
// seen last: it is switched off, Broken, in rescue mode or tested.
func IsDown(m *infrav1.MaasMachine) bool {
	switch conditions.GetReason(m, infrav1.MachineDeployedCondition) {
	case infrav1.MachinePoweredOffReason, infrav1.MachineStateUndefinedReason:
		return IsProvisioned(m)
	}
	return false
}

// HasFinalAddress tells that a machine is being deployed and has the address that it
// will keep: before it is switched on for that, it may have the one that it was
// commissioned with.
func HasFinalAddress(m *infrav1.MaasMachine) bool {
	deploys := []infrav1.MachineState{"Deploying", "Deployed"}
	return m.Status.MachinePowered && slices.Contains(deploys, ptr.Deref(m.Status.MachineState, ""))
}

// IsProvisioned tells that a machine was deployed once.
func IsProvisioned(m *infrav1.MaasMachine) bool {
	return ptr.Deref(m.Status.Initialization.Provisioned, m.Status.Ready)
}

// IsLost tells that a machine is no longer the cluster's, as far as was seen last:
// it is somebody else's, was released, or is gone, and its addresses may be
// anybody's.
func IsLost(m *infrav1.MaasMachine) bool {
	switch conditions.GetReason(m, infrav1.MachineDeployedCondition) {
	case infrav1.ConflictReason, infrav1.MachineReleasedReason, infrav1.MachineNotFoundReason:
		return true
	}
	return false
}
