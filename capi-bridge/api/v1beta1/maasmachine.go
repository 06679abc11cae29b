package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProvisioningMode says whether a MaasMachine is bare metal or a VM.
// +kubebuilder:validation:Enum=bare-metal;lxd
type ProvisioningMode string

// The provisioning modes.
const (
	// ProvisioningModeBareMetal takes a machine that MAAS already has.
	ProvisioningModeBareMetal ProvisioningMode = "bare-metal"
	// ProvisioningModeLXD makes a VM on an LXD host.
	ProvisioningModeLXD ProvisioningMode = "lxd"
)

// MaasMachineSpec is the machine that you want.
//
// A machine is made once. You can set a few fields later: their descriptions
// say so. Nothing else can change. For other values, use another
// MaasMachineTemplate, from which Cluster API makes a new machine.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.providerID) || has(self.providerID)",message="providerID cannot be taken away, because the Node is known by it; delete the Machine instead"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.systemID) || has(self.systemID)",message="systemID cannot be taken away, because the machine in MAAS is known by it; delete the Machine instead"
type MaasMachineSpec struct {
	// provisioningMode says what the machine is. bare-metal (the default): a
	// machine that MAAS already has. lxd: a VM on an LXD host.
	// +optional
	ProvisioningMode *ProvisioningMode `json:"provisioningMode,omitempty"`

	// image is the image that MAAS installs: "<os>/<release>", such as
	// "ubuntu/noble" or "custom/k8s-1-36", or the release alone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Image string `json:"image"`

	// minCPU is the least number of cores of a bare-metal machine. A VM gets
	// exactly this number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	MinCPU *int `json:"minCPU,omitempty"`

	// minMemory is the least memory of a bare-metal machine, in MiB. A VM gets
	// exactly this memory, at least 1024.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1073741824
	MinMemoryInMB *int `json:"minMemory,omitempty"`

	// minDiskSize is a least size in GB of 10⁹ bytes. It applies to the largest
	// disk of a bare-metal machine, or to a VM's root disk.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MinDiskSizeInGB *int `json:"minDiskSize,omitempty"`

	// resourcePool is the resource pool in MAAS of a bare-metal machine, or of
	// a VM's host. The VM is put into the pool as well.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ResourcePool *string `json:"resourcePool,omitempty"`

	// tags are the tags in MAAS that a bare-metal machine, or a VM's host, must
	// carry. It must carry all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Tags []string `json:"tags,omitempty"`

	// failureDomain is the availability zone in MAAS of the machine. It counts
	// where the Machine names no zone. You can set it later, once.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailureDomain *string `json:"failureDomain,omitempty"`

	// staticIP is an address that the machine gets and keeps while it lives.
	// Write an address, or an object with ip and cidr. Gateway and nameservers
	// come from its subnet in MAAS. You can change it until providerID is set.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	StaticIP *StaticIP `json:"staticIP,omitempty"`

	// deployInMemory runs the image from memory and leaves the disks alone.
	// +optional
	DeployInMemory bool `json:"deployInMemory,omitempty"`

	// lxdConfig describes a VM further. It needs provisioningMode lxd, or a
	// field that means the same.
	// +optional
	LXDConfig *LXDConfig `json:"lxdConfig,omitempty"`

	// dynamicLXD makes the machine a VM: true means the same as
	// provisioningMode lxd.
	// +optional
	DynamicLXD *bool `json:"dynamicLXD,omitempty"`

	// lxd is an older way to ask for a VM and to describe it. A VM that only
	// this field asks for gets a providerID of the older form.
	// +optional
	LXD *MachineLXDConfig `json:"lxd,omitempty"`

	// parent is the host of a VM: its name, its id or its system id in MAAS. It
	// means the same as lxdConfig.vmHost.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Parent *string `json:"parent,omitempty"`

	// systemID is the machine's system id in MAAS. The manager sets it once it
	// knows the machine. If you set it from the start, together with
	// providerID, the object takes over an existing machine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="systemID is set once, because the machine in MAAS is known by it; delete the Machine instead"
	SystemID *string `json:"systemID,omitempty"`

	// providerID identifies the machine's Node. The manager sets it once it
	// knows the machine. For a VM it is "maas-lxd://<failure domain>/<system
	// id>". For a bare-metal machine it is "maas://<failure domain>/<system
	// id>".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="providerID is set once, because the Node is known by it; delete the Machine instead"
	ProviderID *string `json:"providerID,omitempty"`
}

// MaasMachine is a machine of a cluster: one that MAAS already has, or a VM on
// an LXD host.
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

	// spec is the machine that you want.
	// +required
	Spec MaasMachineSpec `json:"spec,omitzero"`

	// status is the observed state of the machine.
	// +optional
	Status MaasMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions implements conditions.Getter of Cluster API.
func (m *MaasMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions implements conditions.Setter of Cluster API.
func (m *MaasMachine) SetConditions(conditions []metav1.Condition) { m.Status.Conditions = conditions }

// MaasMachineList is a list of machines.
//
// +kubebuilder:object:root=true
type MaasMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MaasMachine `json:"items"`
}
