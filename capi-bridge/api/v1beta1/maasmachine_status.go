package v1beta1

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineState is the name that MAAS has for a machine's state, such as
// "Deployed", "Failed commissioning" or "Rescue mode".
type MachineState string

// MaasMachineStatus is the observed state of a machine. The manager can find
// out all of it again.
type MaasMachineStatus struct {
	// initialization shows the progress of the machine's first provisioning.
	// +optional
	Initialization MaasMachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// ready is true when the machine is deployed and runs. It serves readers of
	// older versions; look at the condition Ready.
	// +optional
	// +kubebuilder:default=false
	Ready bool `json:"ready"`

	// failureDomain is the availability zone that the machine is in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// provisioningMode says whether the machine is bare metal or a VM.
	// +optional
	ProvisioningMode *ProvisioningMode `json:"provisioningMode,omitempty"`

	// machineState is the name that MAAS has for the machine's state.
	// +optional
	MachineState *MachineState `json:"machineState,omitempty"`

	// machinePowered is true when the machine is switched on.
	// +optional
	MachinePowered bool `json:"machinePowered,omitempty"`

	// hostname is the machine's name in MAAS.
	// +optional
	Hostname *string `json:"hostname,omitempty"`

	// addresses of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// dnsAttached is true when the DNS record of the cluster's API has the
	// machine's address.
	// +optional
	DNSAttached bool `json:"dnsAttached,omitempty"`

	// lxdHost is the LXD host of a VM, by its name in MAAS.
	// +optional
	LXDHost *string `json:"lxdHost,omitempty"`

	// lxdProject is the LXD project of a VM.
	// +optional
	LXDProject *string `json:"lxdProject,omitempty"`

	// vmResourceUsage is the room that a VM takes on its host.
	// +optional
	VMResourceUsage *VMResourceUsage `json:"vmResourceUsage,omitempty"`

	// failureReason is never set. It serves readers of older versions; look at
	// the conditions.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage is never set. It serves readers of older versions; look at
	// the conditions.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// conditions of the machine.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`
}

// MaasMachineInitializationStatus shows the progress of a machine's first
// provisioning.
// +kubebuilder:validation:MinProperties=1
type MaasMachineInitializationStatus struct {
	// provisioned is true once the machine is deployed. It never becomes false
	// again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// VMResourceUsage is the room that a VM takes on its host.
type VMResourceUsage struct {
	// allocatedCores is the number of the VM's cores.
	// +optional
	AllocatedCores int `json:"allocatedCores"`

	// allocatedMemory is the VM's memory in MiB, which MAAS calls MB.
	// +optional
	AllocatedMemory int `json:"allocatedMemory"`

	// allocatedDisk is the size of all the VM's disks together, in GB of 10⁹
	// bytes.
	// +optional
	AllocatedDisk int `json:"allocatedDisk"`
}
