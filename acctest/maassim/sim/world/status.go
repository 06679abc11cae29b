package world

import "slices"

// Status is MAAS's number of a machine's status (enum.py, NODE_STATUS).
type Status int

// The statuses, by MAAS's numbers.
const (
	StatusNew Status = iota
	StatusCommissioning
	StatusFailedCommissioning
	StatusMissing
	StatusReady
	StatusReserved
	StatusDeployed
	StatusRetired
	StatusBroken
	StatusDeploying
	StatusAllocated
	StatusFailedDeployment
	StatusReleasing
	StatusFailedReleasing
	StatusDiskErasing
	StatusFailedDiskErasing
	StatusRescueMode
	StatusEnteringRescueMode
	StatusFailedEnteringRescueMode
	StatusExitingRescueMode
	StatusFailedExitingRescueMode
	StatusTesting
	StatusFailedTesting
)

// StatusWord is what people, and the status filter, call a status.
type StatusWord struct{ Name, Filter string }

// StatusWords are the names for people and those of the status filter.
var StatusWords = []StatusWord{
	{"New", "new"}, {"Commissioning", "commissioning"},
	{"Failed commissioning", "failed_commissioning"}, {"Missing", "missing"},
	{"Ready", "ready"}, {"Reserved", "reserved"}, {"Deployed", "deployed"},
	{"Retired", "retired"}, {"Broken", "broken"}, {"Deploying", "deploying"},
	{"Allocated", "allocated"}, {"Failed deployment", "failed_deployment"},
	{"Releasing", "releasing"}, {"Releasing failed", "failed_releasing"},
	{"Disk erasing", "disk_erasing"}, {"Failed disk erasing", "failed_disk_erasing"},
	{"Rescue mode", "rescue_mode"}, {"Entering rescue mode", "entering_rescue_mode"},
	{"Failed to enter rescue mode", "failed_entering_rescue_mode"},
	{"Exiting rescue mode", "exiting_rescue_mode"},
	{"Failed to exit rescue mode", "failed_exiting_rescue_mode"},
	{"Testing", "testing"}, {"Failed testing", "failed_testing"},
}

// String is MAAS's name of the status.
func (s Status) String() string { return StatusWords[s].Name }

// OneOf says whether a status is one of those.
func OneOf(s Status, those ...Status) bool { return slices.Contains(those, s) }
