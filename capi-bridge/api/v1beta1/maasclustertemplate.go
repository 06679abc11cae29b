package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MaasClusterTemplateSpec is the pattern from which a ClusterClass makes
// MaasClusters. It cannot change: give the ClusterClass a new template instead.
type MaasClusterTemplateSpec struct {
	// template is the MaasCluster to copy.
	// +required
	Template MaasClusterTemplateResource `json:"template"`
}

// MaasClusterTemplateResource is the metadata and spec of the MaasClusters.
type MaasClusterTemplateResource struct {
	// metadata is the metadata that the MaasClusters get.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec that the MaasClusters get.
	// +required
	Spec MaasClusterSpec `json:"spec"`
}

// MaasClusterTemplate is the pattern from which a ClusterClass makes
// MaasClusters.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=maasclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Domain",type="string",JSONPath=".spec.template.spec.dnsDomain",description="Domain of the API's names"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created"
type MaasClusterTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template that you want.
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
