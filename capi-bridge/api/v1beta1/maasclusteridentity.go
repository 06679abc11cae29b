package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaasClusterIdentitySpec is a MAAS, a user of it, and who may use both.
type MaasClusterIdentitySpec struct {
	// endpoint is MAAS's URL: "https://maas.example:5443/MAAS".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://`
	Endpoint string `json:"endpoint"`

	// secretRef names the Secret that has MAAS's API key under the key apiKey.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// caBundle are certificates, PEM, of those who may vouch for MAAS's own.
	// Empty: those that the manager's system trusts.
	// +optional
	// +kubebuilder:validation:MaxLength=1048576
	CABundle string `json:"caBundle,omitempty"`

	// allowTakeOver lets the identity's clusters have machines that were not made
	// for them: those that an object names under the annotation
	// infrastructure.cluster.x-k8s.io/maas-take-over, and those that another
	// management cluster left behind. Their deletion releases them. Empty: no.
	// +optional
	AllowTakeOver bool `json:"allowTakeOver,omitempty"`

	// limits say what of MAAS the identity's clusters may use; empty: everything.
	// +optional
	Limits IdentityLimits `json:"limits,omitempty,omitzero"`

	// allowedNamespaces says which namespaces' clusters may use the identity.
	// Without it no cluster may; an empty one, {}, allows all.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// IdentityLimits say what of a MAAS clusters may use. An empty list allows all.
// Where a list has one entry, it is taken for what a machine leaves open; where it
// has several, the machine must name one.
type IdentityLimits struct {
	// resourcePools that machines, and the hosts of VMs, may be in.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	ResourcePools []string `json:"resourcePools,omitempty"`

	// zones that machines may be in.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Zones []string `json:"zones,omitempty"`

	// domains that clusters' names, and VMs, may be in. A VM that names none is in
	// its cluster's dnsDomain then.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Domains []string `json:"domains,omitempty"`

	// hosts of LXD that VMs may be on, by their names in MAAS.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Hosts []string `json:"hosts,omitempty"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the Secret: the manager's own, which need not be named. A Secret
	// of another namespace is refused: who makes identities could else have any
	// Secret's apiKey sent anywhere.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// AllowedNamespaces says which namespaces will do: those of the list, and
// those that the selector fits. Without both, all will.
type AllowedNamespaces struct {
	// list of namespaces, by name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	List []string `json:"list,omitempty"`

	// selector fits namespaces by their labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// MaasClusterIdentity is a MAAS and a user of it, for the clusters of several
// namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=maasclusteridentities,scope=Cluster,categories=cluster-api
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move-hierarchy="
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.endpoint",description="MAAS's URL"
// +kubebuilder:printcolumn:name="Secret",type="string",JSONPath=".spec.secretRef.name",description="Secret with MAAS's API key"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created"
type MaasClusterIdentity struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted of the identity.
	// +required
	Spec MaasClusterIdentitySpec `json:"spec,omitzero"`
}

// MaasClusterIdentityList is a list of identities.
//
// +kubebuilder:object:root=true
type MaasClusterIdentityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MaasClusterIdentity `json:"items"`
}
