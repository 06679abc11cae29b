package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProvisioningMode is what a MaasMachine is made of.
// +kubebuilder:validation:Enum=bare-metal;lxd
type ProvisioningMode string

// The provisioning modes.
const (
	// ProvisioningModeBareMetal takes a machine that MAAS has.
	ProvisioningModeBareMetal ProvisioningMode = "bare-metal"
	// ProvisioningModeLXD makes a VM on an LXD host.
	ProvisioningModeLXD ProvisioningMode = "lxd"
)

// MaasMachineSpec is a wanted machine.
//
// A machine is made once: nothing of it can change but what the fields below
// say may be set later. What is wanted otherwise is another machine, which
// Cluster API makes from another MaasMachineTemplate.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.providerID) || has(self.providerID)",message="providerID cannot be taken away, because the Node is known by it; delete the Machine instead"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.systemID) || has(self.systemID)",message="systemID cannot be taken away, because the machine in MAAS is known by it; delete the Machine instead"
type MaasMachineSpec struct {
	// provisioningMode is what the machine is made of: a machine that MAAS has
	// (bare-metal, the default) or a VM on an LXD host (lxd).
	// +optional
	ProvisioningMode *ProvisioningMode `json:"provisioningMode,omitempty"`

	// image is what MAAS installs: "<os>/<release>", such as "ubuntu/noble" or
	// "custom/k8s-1-36", or the release alone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Image string `json:"image"`

	// minCPU is the least number of cores of a bare-metal machine, and the
	// number of cores of a VM.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	MinCPU *int `json:"minCPU,omitempty"`

	// minMemory is the least memory of a bare-metal machine, and the memory of
	// a VM, in MiB; a VM needs 1024.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1073741824
	MinMemoryInMB *int `json:"minMemory,omitempty"`

	// minDiskSize is the least size of a disk, in GB of 10⁹ bytes: of the
	// largest disk of a bare-metal machine, and of a VM's root disk.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MinDiskSizeInGB *int `json:"minDiskSize,omitempty"`

	// resourcePool of MAAS that a bare-metal machine, or the host of a VM, must
	// be in. A VM gets it, too.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ResourcePool *string `json:"resourcePool,omitempty"`

	// tags of MAAS that a bare-metal machine, or the host of a VM, must carry:
	// all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Tags []string `json:"tags,omitempty"`

	// failureDomain is the availability zone of MAAS that the machine must be
	// in, where its Machine names none. It can be set later, once.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailureDomain *string `json:"failureDomain,omitempty"`

	// staticIP is an address that the machine gets and keeps while it lives: an
	// address, or an object with ip and cidr. Gateway and nameservers are those
	// of its subnet in MAAS. It can be changed until providerID is set.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	StaticIP *StaticIP `json:"staticIP,omitempty"`

	// deployInMemory runs the image from memory and leaves the disks alone.
	// +optional
	DeployInMemory bool `json:"deployInMemory,omitempty"`

	// lxdConfig says more of a VM; only with provisioningMode lxd, or one of the
	// fields that say the same.
	// +optional
	LXDConfig *LXDConfig `json:"lxdConfig,omitempty"`

	// dynamicLXD makes the machine a VM: true says the same as
	// provisioningMode lxd.
	// +optional
	DynamicLXD *bool `json:"dynamicLXD,omitempty"`

	// lxd is an older way to ask for a VM and to describe it. A VM that is asked
	// for by it alone gets a providerID of the older form.
	// +optional
	LXD *MachineLXDConfig `json:"lxd,omitempty"`

	// parent is the host of a VM: its name, its id or its system id in MAAS. It
	// says the same as lxdConfig.vmHost.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Parent *string `json:"parent,omitempty"`

	// systemID is the machine's id in MAAS, set once it is known. Given from the
	// start, with providerID, it takes over a machine that is there.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="systemID is set once, because the machine in MAAS is known by it; delete the Machine instead"
	SystemID *string `json:"systemID,omitempty"`

	// providerID is by what the Node is found, set once the machine is known:
	// "maas-lxd://<failure domain>/<system id>" of a VM,
	// "maas://<failure domain>/<system id>" of a bare-metal machine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="providerID is set once, because the Node is known by it; delete the Machine instead"
	ProviderID *string `json:"providerID,omitempty"`
}

// MaasMachine is a machine of a cluster: one that MAAS has, or a VM on an LXD
// host.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=maasmachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that it belongs to"
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".status.provisioningMode",description="bare-metal, or lxd for a VM"
// +kubebuilder:printcolumn:name="Host",type="string",JSONPath=".status.lxdHost",description="LXD host of a VM"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".status.failureDomain",description="Availability zone in MAAS"
// +kubebuilder:printcolumn:name="SystemID",type="string",JSONPath=".spec.systemID",description="Id in MAAS"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.machineState",description="State as MAAS calls it"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the machine is as wanted"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created"
// +kubebuilder:printcolumn:name="Hostname",type="string",JSONPath=".status.hostname",description="Name in MAAS",priority=1
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".status.addresses[?(@.type=='ExternalIP')].address",description="Address of the machine",priority=1
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".metadata.ownerReferences[?(@.kind=='Machine')].name",description="Machine that owns it",priority=1
type MaasMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted of the machine.
	// +required
	Spec MaasMachineSpec `json:"spec,omitzero"`

	// status is what was seen of the machine.
	// +optional
	Status MaasMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions are the conditions of the machine.
func (m *MaasMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions of the machine.
func (m *MaasMachine) SetConditions(conditions []metav1.Condition) { m.Status.Conditions = conditions }

// MaasMachineList is a list of machines.
//
// +kubebuilder:object:root=true
type MaasMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MaasMachine `json:"items"`
}
