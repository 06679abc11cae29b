package v1beta1

// Condition types of a MaasMachine. Each is True when what it names holds, but
// Paused and Deleting, which are True while that goes on.
const (
	// ReadyCondition sums up the others: the machine is as wanted.
	ReadyCondition = "Ready"
	// PausedCondition: nothing is done to the object.
	PausedCondition = "Paused"
	// DeletingCondition: what the object stands for is being removed.
	DeletingCondition = "Deleting"

	// MachineDeployedCondition: the machine, bare metal or a VM, is Deployed in
	// MAAS and runs.
	MachineDeployedCondition = "MachineDeployed"
	// DNSAttachedCondition: the DNS record of the cluster's API has the machine's
	// address. Only of control-plane machines whose endpoint we publish.
	DNSAttachedCondition = "DNSAttached"
	// NodeProviderIDSetCondition: the Node of the machine carries its providerID.
	NodeProviderIDSetCondition = "NodeProviderIDSet"

	// LXDHostSelectedCondition: a host is chosen for the VM. Only of VMs.
	LXDHostSelectedCondition = "LXDHostSelected"
	// LXDResourcesAllocatedCondition: the VM's cores, memory and disks are set
	// aside on its host. Only of VMs.
	LXDResourcesAllocatedCondition = "LXDResourcesAllocated"
	// LXDVMCreatedCondition: the VM exists in LXD and is Ready in MAAS, or
	// further. Only of VMs.
	LXDVMCreatedCondition = "LXDVMCreated"
	// LXDVMDeployedCondition: the VM is Deployed in MAAS and runs. Only of VMs.
	LXDVMDeployedCondition = "LXDVMDeployed"
)

// Reasons that several conditions have.
const (
	// UnspecifiedReason stands for a reason that an older version left out.
	UnspecifiedReason = "Unspecified"
	// InvalidSpecReason: the spec contradicts itself, or asks for what cannot
	// be. It changes only with the spec.
	InvalidSpecReason = "InvalidSpec"
	// ConflictReason: what is wanted is there and belongs to somebody else, or
	// was changed by hand. Nothing is done to it.
	ConflictReason = "Conflict"
	// MAASUnavailableReason: MAAS could not be reached or had an error of its
	// own. It is tried again.
	MAASUnavailableReason = "MAASUnavailable"
	// LedgerUnavailableReason: the manager's ledger could not be reached, read or
	// written, or refused the manager. Nothing is placed without it.
	LedgerUnavailableReason = "LedgerUnavailable"
	// MAASRefusedReason: MAAS refused what was asked, in its own words.
	MAASRefusedReason = "MAASRefused"
	// IdentityNotReadyReason: there are no credentials for MAAS, or MAAS does
	// not take them, or the cluster's namespace may not use them.
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
	// machine's first boot yet, or it cannot be read.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"
	// WaitingForStaticIPReason: staticIP has no address yet.
	WaitingForStaticIPReason = "WaitingForStaticIP"
	// StaticIPUnavailableReason: the static address is in use, reserved, or in no
	// subnet that the machine can be in.
	StaticIPUnavailableReason = "StaticIPUnavailable"
	// WaitingForMachineReason: no Ready machine of MAAS fits.
	WaitingForMachineReason = "WaitingForMachine"
	// WaitingForVMReason: the VM does not exist yet; the other conditions say
	// why.
	WaitingForVMReason = "WaitingForVM"
	// MachineCommissioningReason: MAAS takes stock of the machine.
	MachineCommissioningReason = "MachineCommissioning"
	// MachineDeployingReason: MAAS installs the machine.
	MachineDeployingReason = "MachineDeploying"
	// MachineDeployFailedReason: MAAS could not install the machine.
	MachineDeployFailedReason = "MachineDeployFailed"
	// MachinePoweredOffReason: the machine is Deployed and switched off.
	MachinePoweredOffReason = "MachinePoweredOff"
	// MachineStateUndefinedReason: MAAS shows a state in which nothing is done,
	// such as Broken or Rescue mode: somebody works on the machine.
	MachineStateUndefinedReason = "MachineStateUndefined"
	// MachineNotFoundReason: MAAS no longer has the machine.
	MachineNotFoundReason = "MachineNotFound"
	// MachineReleasedReason: the machine was released by somebody else, and so
	// lost what it ran.
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
	// NodeNotFoundReason: no Node has the machine's name or one of its addresses
	// yet.
	NodeNotFoundReason = "NodeNotFound"
	// NodeProviderIDDiffersReason: the Node carries another providerID, which
	// cannot be changed.
	NodeProviderIDDiffersReason = "NodeProviderIDDiffers"
	// WorkloadClusterUnreachableReason: the cluster's API cannot be reached.
	WorkloadClusterUnreachableReason = "WorkloadClusterUnreachable"
)

// Reasons of the conditions of a VM.
const (
	// LXDHostSelectedReason: a host is chosen.
	LXDHostSelectedReason = "LXDHostSelected"
	// LXDResourcesAllocatedReason: the room is set aside.
	LXDResourcesAllocatedReason = "LXDResourcesAllocated"
	// LXDVMCreatedReason: the VM exists.
	LXDVMCreatedReason = "LXDVMCreated"
	// LXDVMCreatingReason: the VM is being made and taken stock of.
	LXDVMCreatingReason = "LXDVMCreating"
	// LXDVMDeployedReason: the VM is Deployed and runs.
	LXDVMDeployedReason = "LXDVMDeployed"
	// WaitingForLXDHostReason: what comes before the choice of a host is not
	// done yet.
	WaitingForLXDHostReason = "WaitingForLXDHost"

	// HostUnavailableReason: the host, or every host that would do, cannot be
	// reached.
	HostUnavailableReason = "HostUnavailable"
	// InsufficientResourcesReason: no host that would do has the room.
	InsufficientResourcesReason = "InsufficientResources"
	// ProfileNotFoundReason: no host has the profile; or MAAS makes the VM, and
	// there is no choice.
	ProfileNotFoundReason = "ProfileNotFound"
	// ProjectNotFoundReason: no host that would do has the project.
	ProjectNotFoundReason = "ProjectNotFound"
	// VMCreationFailedReason: the VM could not be made.
	VMCreationFailedReason = "VMCreationFailed"
	// VMDeploymentFailedReason: the VM was made, and could not be installed.
	VMDeploymentFailedReason = "VMDeploymentFailed"
)

// Reasons of Ready.
const (
	// ReadyReason: all that is needed holds.
	ReadyReason = "Ready"
	// NotReadyReason: something needed does not hold; the message says what.
	NotReadyReason = "NotReady"
	// ReadyUnknownReason: of something needed it is not known whether it holds.
	ReadyUnknownReason = "ReadyUnknown"
)

// Reasons of Deleting.
const (
	// NotDeletingReason: it is not being deleted.
	NotDeletingReason = "NotDeleting"
	// DetachingDNSReason: its address is being taken out of the DNS record.
	DetachingDNSReason = "DetachingDNS"
	// ReleasingReason: MAAS stops what it does with the machine, or releases it.
	ReleasingReason = "Releasing"
	// DeletingVMReason: the VM is being removed from MAAS and LXD.
	DeletingVMReason = "DeletingVM"
	// DeletionBlockedReason: something must be done by a person first; the
	// message says what.
	DeletionBlockedReason = "DeletionBlocked"
	// DeletionCompletedReason: nothing is left.
	DeletionCompletedReason = "DeletionCompleted"
)
