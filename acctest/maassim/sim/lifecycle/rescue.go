package lifecycle

import "github.com/maaslxd/maaslxd/acctest/maassim/sim/world"

// rescuableStatuses are the statuses from which a machine can enter rescue mode, and
// rescueExitStatuses those from which it can leave it (node_status.py, NODE_TRANSITIONS).
var (
	rescuableStatuses = []world.Status{
		world.StatusNew, world.StatusFailedCommissioning, world.StatusReady, world.StatusReserved, world.StatusAllocated,
		world.StatusFailedDeployment, world.StatusDeployed, world.StatusMissing, world.StatusRetired, world.StatusBroken,
		world.StatusFailedDiskErasing, world.StatusFailedEnteringRescueMode, world.StatusFailedTesting,
	}
	rescueExitStatuses = []world.Status{
		world.StatusEnteringRescueMode, world.StatusFailedEnteringRescueMode, world.StatusRescueMode,
		world.StatusFailedExitingRescueMode,
	}
)

// CanEnterRescueMode tells whether a machine of that status can enter rescue mode.
// Entering it again is allowed, because MAAS allows a transition to the same status.
func CanEnterRescueMode(s world.Status) bool {
	return s == world.StatusEnteringRescueMode || world.IsStatusIn(s, rescuableStatuses...)
}

// CanExitRescueMode tells whether a machine of that status can leave rescue mode.
func CanExitRescueMode(s world.Status) bool {
	return s == world.StatusExitingRescueMode || world.IsStatusIn(s, rescueExitStatuses...)
}
