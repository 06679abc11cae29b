package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MaasMachineTemplateSpec is the pattern from which MaasMachines are made. It
// cannot change: give the control plane or MachineDeployment a new template
// instead.
type MaasMachineTemplateSpec struct {
	// template is the MaasMachine to copy.
	// +required
	Template MaasMachineTemplateResource `json:"template"`
}

// MaasMachineTemplateResource is the metadata and spec of the MaasMachines.
type MaasMachineTemplateResource struct {
	// metadata is the metadata that the MaasMachines get.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec that the MaasMachines get.
	// +required
	Spec MaasMachineSpec `json:"spec"`
}

// MaasMachineTemplateStatus describes the Nodes of the template, for an
// autoscaler that starts with no Node.
type MaasMachineTemplateStatus struct {
	// capacity of a Node: cpu, memory and ephemeral-storage, where the template
	// asks for them.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo describes the system of a Node.
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitempty,omitzero"`
}

// NodeInfo is what an autoscaler must know of a Node. The architecture is
// missing: it depends on the machine that MAAS finds.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// operatingSystem of the Node.
	// +optional
	// +kubebuilder:validation:Enum=linux
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// MaasMachineTemplate is the pattern from which MaasMachines are made.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=maasmachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Mode",type="string",JSONPath=".spec.template.spec.provisioningMode",description="bare-metal, or lxd for a VM; empty: bare-metal, unless an older field says otherwise"
// +kubebuilder:printcolumn:name="Cores",type="integer",JSONPath=".spec.template.spec.minCPU",description="Cores"
// +kubebuilder:printcolumn:name="MiB",type="integer",JSONPath=".spec.template.spec.minMemory",description="Memory in MiB"
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.template.spec.image",description="What MAAS installs"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created"
type MaasMachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template that you want.
	// +required
	Spec MaasMachineTemplateSpec `json:"spec,omitzero"`

	// status is the observed state of the template.
	// +optional
	Status MaasMachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// MaasMachineTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type MaasMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MaasMachineTemplate `json:"items"`
}
