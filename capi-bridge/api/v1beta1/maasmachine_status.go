package v1beta1

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineState is a machine's state by MAAS's own name, such as "Deployed",
// "Failed commissioning" or "Rescue mode".
type MachineState string

// MaasMachineStatus is what was seen of a machine. All of it can be found out
// again.
type MaasMachineStatus struct {
	// initialization says how far the machine is for the first time.
	// +optional
	Initialization MaasMachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// ready tells that the machine is deployed and runs. It is for readers of
	// older versions; look at the condition Ready.
	// +optional
	// +kubebuilder:default=false
	Ready bool `json:"ready"`

	// failureDomain is the availability zone that the machine is in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// provisioningMode is what the machine is made of.
	// +optional
	ProvisioningMode *ProvisioningMode `json:"provisioningMode,omitempty"`

	// machineState is the machine's state as MAAS calls it.
	// +optional
	MachineState *MachineState `json:"machineState,omitempty"`

	// machinePowered tells whether the machine is switched on.
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

	// dnsAttached tells whether the DNS record of the cluster's API has the
	// machine's address.
	// +optional
	DNSAttached bool `json:"dnsAttached,omitempty"`

	// lxdHost is the LXD host of a VM, by its name in MAAS.
	// +optional
	LXDHost *string `json:"lxdHost,omitempty"`

	// lxdProject is the LXD project of a VM.
	// +optional
	LXDProject *string `json:"lxdProject,omitempty"`

	// vmResourceUsage is what a VM takes of its host.
	// +optional
	VMResourceUsage *VMResourceUsage `json:"vmResourceUsage,omitempty"`

	// failureReason is never set; it is there for readers of older versions. See
	// the conditions.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage is never set; it is there for readers of older versions.
	// See the conditions.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// conditions of the machine.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`
}

// MaasMachineInitializationStatus says how far a machine is for the first
// time.
// +kubebuilder:validation:MinProperties=1
type MaasMachineInitializationStatus struct {
	// provisioned is true once the machine is deployed. It never turns false
	// again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// VMResourceUsage is what a VM takes of its host.
type VMResourceUsage struct {
	// allocatedCores is the number of its cores.
	// +optional
	AllocatedCores int `json:"allocatedCores"`

	// allocatedMemory is its memory in MiB, which MAAS calls MB.
	// +optional
	AllocatedMemory int `json:"allocatedMemory"`

	// allocatedDisk is the size of all its disks, in GB of 10⁹ bytes.
	// +optional
	AllocatedDisk int `json:"allocatedDisk"`
}
