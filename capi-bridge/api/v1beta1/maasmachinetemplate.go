package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MaasMachineTemplateSpec is what MaasMachines are made of. It cannot change:
// a control plane or a MachineDeployment takes a new template instead.
type MaasMachineTemplateSpec struct {
	// template of a MaasMachine.
	// +required
	Template MaasMachineTemplateResource `json:"template"`
}

// MaasMachineTemplateResource is a MaasMachine to be.
type MaasMachineTemplateResource struct {
	// metadata that the MaasMachines get.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the MaasMachines.
	// +required
	Spec MaasMachineSpec `json:"spec"`
}

// MaasMachineTemplateStatus is what a Node of the template would have, for an
// autoscaler that starts from no Node at all.
type MaasMachineTemplateStatus struct {
	// capacity of a Node: cpu, memory and ephemeral-storage, as far as the
	// template asks for them.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo of a Node.
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitempty,omitzero"`
}

// NodeInfo is what an autoscaler must know of a Node. Of its architecture a
// template says nothing: it is that of the machine which MAAS finds.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// operatingSystem of the Node.
	// +optional
	// +kubebuilder:validation:Enum=linux
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// MaasMachineTemplate is what MaasMachines are made of.
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

	// spec is what is wanted of the template.
	// +required
	Spec MaasMachineTemplateSpec `json:"spec,omitzero"`

	// status is what was seen of the template.
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
