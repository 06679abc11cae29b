package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MaasClusterTemplateSpec is what a ClusterClass makes MaasClusters of. It
// cannot change: a ClusterClass takes a new template instead.
type MaasClusterTemplateSpec struct {
	// template of a MaasCluster.
	// +required
	Template MaasClusterTemplateResource `json:"template"`
}

// MaasClusterTemplateResource is a MaasCluster to be.
type MaasClusterTemplateResource struct {
	// metadata that the MaasClusters get.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the MaasClusters.
	// +required
	Spec MaasClusterSpec `json:"spec"`
}

// MaasClusterTemplate is what a ClusterClass makes MaasClusters of.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=maasclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Domain",type="string",JSONPath=".spec.template.spec.dnsDomain",description="Domain of the API's names"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created"
type MaasClusterTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted of the template.
	// +required
	Spec MaasClusterTemplateSpec `json:"spec,omitzero"`
}

// MaasClusterTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type MaasClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MaasClusterTemplate `json:"items"`
}
