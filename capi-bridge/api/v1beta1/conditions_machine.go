package v1beta1

// Condition types of a MaasMachine. A condition is True when the statement in
// its comment holds. Paused and Deleting are True while that goes on.
const (
	// ReadyCondition sums up the others: the machine is as the spec wants it.
	ReadyCondition = "Ready"
	// PausedCondition: the manager leaves the object alone.
	PausedCondition = "Paused"
	// DeletingCondition: the manager is removing the object's machine or name.
	DeletingCondition = "Deleting"

	// MachineDeployedCondition: the machine, bare metal or a VM, is Deployed in
	// MAAS and runs.
	MachineDeployedCondition = "MachineDeployed"
	// DNSAttachedCondition: the DNS record of the cluster's API has the
	// machine's address. Only control-plane machines whose endpoint we publish
	// have it.
	DNSAttachedCondition = "DNSAttached"
	// NodeProviderIDSetCondition: the Node of the machine carries its providerID.
	NodeProviderIDSetCondition = "NodeProviderIDSet"

	// LXDHostSelectedCondition: a host is chosen for the VM. Only VMs have it.
	LXDHostSelectedCondition = "LXDHostSelected"
	// LXDResourcesAllocatedCondition: the VM's cores, memory and disks are
	// reserved on its host. Only VMs have it.
	LXDResourcesAllocatedCondition = "LXDResourcesAllocated"
	// LXDVMCreatedCondition: the VM exists in LXD and is Ready in MAAS, or
	// further. Only VMs have it.
	LXDVMCreatedCondition = "LXDVMCreated"
	// LXDVMDeployedCondition: the VM is Deployed in MAAS and runs. Only VMs
	// have it.
	LXDVMDeployedCondition = "LXDVMDeployed"
)

// Reasons that several conditions have.
const (
	// UnspecifiedReason stands for a reason that an older version left out.
	UnspecifiedReason = "Unspecified"
	// InvalidSpecReason: the spec contradicts itself, or asks for something
	// impossible. Only a change of the spec ends it.
	InvalidSpecReason = "InvalidSpec"
	// ConflictReason: the machine or name exists and belongs to somebody else,
	// or was changed by hand. The manager does nothing to it.
	ConflictReason = "Conflict"
	// MAASUnavailableReason: MAAS could not be reached or had an error of its
	// own. The manager tries again.
	MAASUnavailableReason = "MAASUnavailable"
	// LedgerUnavailableReason: the manager's ledger could not be reached, read
	// or written, or refused the manager. Nothing is placed without it.
	LedgerUnavailableReason = "LedgerUnavailable"
	// MAASRefusedReason: MAAS refused the request; the message has MAAS's own
	// words.
	MAASRefusedReason = "MAASRefused"
	// IdentityNotReadyReason: there are no credentials for MAAS, MAAS refuses
	// them, or the cluster's namespace may not use them.
	IdentityNotReadyReason = "IdentityNotReady"
	// DeletingReason: the object is being deleted.
	DeletingReason = "Deleting"
)

// Reasons of MachineDeployed, and of LXDVMDeployed.
const (
	// MachineDeployedReason: it is Deployed and runs.
	MachineDeployedReason = "MachineDeployed"
	// WaitingForClusterInfrastructureReason: the MaasCluster is not provisioned
	// yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"
	// WaitingForBootstrapDataReason: the bootstrap provider has not written the
	// bootstrap data yet, or the data cannot be read.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"
	// WaitingForStaticIPReason: staticIP has no address yet.
	WaitingForStaticIPReason = "WaitingForStaticIP"
	// StaticIPUnavailableReason: the static address is in use or reserved, or
	// no subnet of the machine has it.
	StaticIPUnavailableReason = "StaticIPUnavailable"
	// WaitingForMachineReason: no Ready machine of MAAS fits.
	WaitingForMachineReason = "WaitingForMachine"
	// WaitingForVMReason: the VM does not exist yet; the other conditions say
	// why.
	WaitingForVMReason = "WaitingForVM"
	// MachineCommissioningReason: MAAS commissions the machine.
	MachineCommissioningReason = "MachineCommissioning"
	// MachineDeployingReason: MAAS installs the machine.
	MachineDeployingReason = "MachineDeploying"
	// MachineDeployFailedReason: MAAS could not install the machine.
	MachineDeployFailedReason = "MachineDeployFailed"
	// MachinePoweredOffReason: the machine is Deployed and switched off.
	MachinePoweredOffReason = "MachinePoweredOff"
	// MachineStateUndefinedReason: MAAS shows a state in which the manager does
	// nothing, such as Broken or Rescue mode: somebody works on the machine.
	MachineStateUndefinedReason = "MachineStateUndefined"
	// MachineNotFoundReason: MAAS no longer has the machine.
	MachineNotFoundReason = "MachineNotFound"
	// MachineReleasedReason: somebody else released the machine, which lost its
	// system.
	MachineReleasedReason = "MachineReleased"
)

// Reasons of DNSAttached.
const (
	// DNSAttachedReason: the record has the address.
	DNSAttachedReason = "DNSAttached"
	// DNSAttachPendingReason: the record does not have the address yet.
	DNSAttachPendingReason = "DNSAttachPending"
	// DNSDetachPendingReason: the machine is being deleted, and the record still
	// has the address.
	DNSDetachPendingReason = "DNSDetachPending"
	// DNSDetachedReason: the record no longer has the address.
	DNSDetachedReason = "DNSDetached"
)

// Reasons of NodeProviderIDSet.
const (
	// NodeProviderIDSetReason: the Node carries the providerID.
	NodeProviderIDSetReason = "NodeProviderIDSet"
	// NodeNotFoundReason: no Node has the machine's name or one of its
	// addresses yet.
	NodeNotFoundReason = "NodeNotFound"
	// NodeProviderIDDiffersReason: the Node has another providerID, which
	// cannot change.
	NodeProviderIDDiffersReason = "NodeProviderIDDiffers"
	// WorkloadClusterUnreachableReason: the cluster's API cannot be reached.
	WorkloadClusterUnreachableReason = "WorkloadClusterUnreachable"
)

// Reasons of the conditions of a VM.
const (
	// LXDHostSelectedReason: a host is chosen.
	LXDHostSelectedReason = "LXDHostSelected"
	// LXDResourcesAllocatedReason: the room is reserved.
	LXDResourcesAllocatedReason = "LXDResourcesAllocated"
	// LXDVMCreatedReason: the VM exists.
	LXDVMCreatedReason = "LXDVMCreated"
	// LXDVMCreatingReason: the VM is being composed or commissioned.
	LXDVMCreatingReason = "LXDVMCreating"
	// LXDVMDeployedReason: the VM is Deployed and runs.
	LXDVMDeployedReason = "LXDVMDeployed"
	// WaitingForLXDHostReason: the choice of a host must wait for an earlier
	// step.
	WaitingForLXDHostReason = "WaitingForLXDHost"

	// HostUnavailableReason: the host, or every suitable host, cannot be
	// reached.
	HostUnavailableReason = "HostUnavailable"
	// InsufficientResourcesReason: no suitable host has the room.
	InsufficientResourcesReason = "InsufficientResources"
	// ProfileNotFoundReason: no host has the profile; or MAAS makes the VM and
	// offers no choice of profile.
	ProfileNotFoundReason = "ProfileNotFound"
	// ProjectNotFoundReason: no suitable host has the project.
	ProjectNotFoundReason = "ProjectNotFound"
	// VMCreationFailedReason: the VM could not be composed.
	VMCreationFailedReason = "VMCreationFailed"
	// VMDeploymentFailedReason: the VM was composed but could not be deployed.
	VMDeploymentFailedReason = "VMDeploymentFailed"
)

// Reasons of Ready.
const (
	// ReadyReason: every needed condition is True.
	ReadyReason = "Ready"
	// NotReadyReason: a needed condition is not True; the message says which.
	NotReadyReason = "NotReady"
	// ReadyUnknownReason: a needed condition is Unknown.
	ReadyUnknownReason = "ReadyUnknown"
)

// Reasons of Deleting.
const (
	// NotDeletingReason: it is not being deleted.
	NotDeletingReason = "NotDeleting"
	// DetachingDNSReason: the manager takes the address out of the DNS record.
	DetachingDNSReason = "DetachingDNS"
	// ReleasingReason: MAAS aborts its work on the machine, or releases it.
	ReleasingReason = "Releasing"
	// DeletingVMReason: the VM is being removed from MAAS and LXD.
	DeletingVMReason = "DeletingVM"
	// DeletionBlockedReason: a person must act first; the message says what to
	// do.
	DeletionBlockedReason = "DeletionBlocked"
	// DeletionCompletedReason: nothing is left.
	DeletionCompletedReason = "DeletionCompleted"
)
