package controller

import (
	"net/netip"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// servingAddresses are those of the machines that serve the API, or will. One
// that was never provisioned counts only as long as none was: the first one must
// find itself by that name while it is being deployed. A provisioned one counts
// for that even while none of its addresses is known, or it is lost. One that is down
// counts only while all are: MAAS is wrong about that at times, and a name that points
// to nobody helps nobody.
func servingAddresses(machines []infrav1.MaasMachine, subnets []netip.Prefix) []netip.Addr {
	if !anyControlPlane(machines, remains) {
		return addressesOf(machines, subnets, func(m *infrav1.MaasMachine) bool {
			return m.DeletionTimestamp.IsZero() && isInstalled(m) && !isLost(m)
		})
	}
	up := addressesOf(machines, subnets, func(m *infrav1.MaasMachine) bool { return serves(m) && !isDown(m) })
	if len(up) > 0 {
		return up
	}
	return addressesOf(machines, subnets, serves)
}

// remains tells that a machine was deployed once, and is not being deleted.
func remains(m *infrav1.MaasMachine) bool { return m.DeletionTimestamp.IsZero() && isProvisioned(m) }

// serves tells that a machine was deployed once, and is still the cluster's.
func serves(m *infrav1.MaasMachine) bool { return remains(m) && !isLost(m) }

// isDown tells that a machine which was deployed once seems not to run, as far as was
// seen last: it is switched off, Broken, in rescue mode or tested.
func isDown(m *infrav1.MaasMachine) bool {
	switch conditions.GetReason(m, infrav1.MachineDeployedCondition) {
	case infrav1.MachinePoweredOffReason, infrav1.MachineStateUndefinedReason:
		return isProvisioned(m)
	}
	return false
}

// isInstalled tells that a machine is being deployed and has the address that it
// will keep: before it is switched on for that, it may have the one that it was
// commissioned with.
func isInstalled(m *infrav1.MaasMachine) bool {
	deploys := []infrav1.MachineState{"Deploying", "Deployed"}
	return m.Status.MachinePowered && slices.Contains(deploys, ptr.Deref(m.Status.MachineState, ""))
}

// isProvisioned tells that a machine was deployed once.
func isProvisioned(m *infrav1.MaasMachine) bool {
	return ptr.Deref(m.Status.Initialization.Provisioned, m.Status.Ready)
}
