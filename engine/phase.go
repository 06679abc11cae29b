package engine

// Status is MAAS's number for the state of a machine (NODE_STATUS in MAAS's enum.py). The
// number is stable between versions; the name beside it is for people.
type Status int

// The statuses that the engine acts on or waits for.
const (
	StatusNew                 Status = 0
	StatusCommissioning       Status = 1
	StatusFailedCommissioning Status = 2
	StatusReady               Status = 4
	StatusDeployed            Status = 6
	StatusBroken              Status = 8
	StatusDeploying           Status = 9
	StatusAllocated           Status = 10
	StatusFailedDeployment    Status = 11
	StatusReleasing           Status = 12
	StatusFailedReleasing     Status = 13
	StatusDiskErasing         Status = 14
	StatusFailedDiskErasing   Status = 15
	StatusRescueMode          Status = 16
	StatusEnteringRescue      Status = 17
	StatusFailedEnterRescue   Status = 18
	StatusExitingRescue       Status = 19
	StatusFailedExitRescue    Status = 20
	StatusTesting             Status = 21
	StatusFailedTesting       Status = 22
)

// Phase is the meaning of a Status for the engine. It is derived each time a machine is read
// and never stored, so it cannot be out of date.
type Phase string

// The phases. A reconcile leaves a machine in PhaseOther alone and reports MAAS's own name:
// missing, reserved, retired, rescue mode and its transitions.
const (
	PhaseCommissioning Phase = "Commissioning"
	PhaseReady         Phase = "Ready"
	PhaseAllocated     Phase = "Allocated"
	PhaseDeploying     Phase = "Deploying"
	PhaseDeployed      Phase = "Deployed"
	PhaseReleasing     Phase = "Releasing"
	PhaseFailed        Phase = "Failed"
	PhaseOther         Phase = "Other"
)

// Phase returns the meaning of the status for the engine.
func (s Status) Phase() Phase {
	switch s {
	case StatusNew, StatusCommissioning, StatusTesting:
		return PhaseCommissioning
	case StatusReady:
		return PhaseReady
	case StatusAllocated:
		return PhaseAllocated
	case StatusDeploying:
		return PhaseDeploying
	case StatusDeployed:
		return PhaseDeployed
	case StatusReleasing, StatusDiskErasing:
		return PhaseReleasing
	case StatusFailedCommissioning, StatusBroken, StatusFailedDeployment,
		StatusFailedReleasing, StatusFailedDiskErasing, StatusFailedTesting:
		return PhaseFailed
	default:
		return PhaseOther
	}
}

// WithStatus is the machine as MAAS will show it soon. A wait begins from that state.
func (m Machine) WithStatus(s Status) Machine {
	names := map[Status]string{StatusCommissioning: "Commissioning", StatusDeploying: "Deploying", StatusReleasing: "Releasing"}
	m.Status, m.StatusName = s, names[s]
	if s == StatusDeploying {
		m.IPAddresses = nil // MAAS gives it others now
	}
	return m
}

// WithHostname is the machine as MAAS shows it under a hostname. Its domain ends its FQDN.
func (m Machine) WithHostname(hostname string) Machine {
	m.Hostname, m.FQDN = hostname, hostname+"."+m.Domain
	return m
}

// PhaseActs is a row of a kind's table of phases. It names what a step does with an object
// whose machine is in a phase, or in a special case of a phase. docs/reference/states.md shows the
// tables.
type PhaseActs struct {
	In        string // "Deployed", "Failed before Ready"
	Reconcile string // "finish"
	Delete    string // "release"
}
