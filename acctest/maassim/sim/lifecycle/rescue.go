package lifecycle

import "github.com/maaslxd/maaslxd/acctest/maassim/sim/world"

// rescuable are the statuses from which a machine goes into rescue mode, and
// rescued those that lead out of it (node_status.py, NODE_TRANSITIONS).
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

// CanEnterRescueMode says whether a machine of that status may go into rescue
// mode. Going there once more is no change, which MAAS always allows.
func CanEnterRescueMode(s world.Status) bool {
	return s == world.StatusEnteringRescueMode || world.IsStatusIn(s, rescuableStatuses...)
}

// CanExitRescueMode says whether one of that status may leave it.
func CanExitRescueMode(s world.Status) bool {
	return s == world.StatusExitingRescueMode || world.IsStatusIn(s, rescueExitStatuses...)
}
