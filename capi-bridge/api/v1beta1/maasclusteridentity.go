package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaasClusterIdentitySpec names a MAAS, a user of it, and who may use both.
type MaasClusterIdentitySpec struct {
	// endpoint is MAAS's URL: "https://maas.example:5443/MAAS".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://`
	Endpoint string `json:"endpoint"`

	// secretRef names the Secret that holds MAAS's API key under the key
	// apiKey.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// caBundle holds PEM certificates of the authorities that sign MAAS's
	// certificate. Empty: the authorities that the manager's system trusts.
	// +optional
	// +kubebuilder:validation:MaxLength=1048576
	CABundle string `json:"caBundle,omitempty"`

	// allowTakeOver lets the identity's clusters take machines that were not
	// made for them. Two kinds of machines are meant: those that an object
	// names under the annotation
	// infrastructure.cluster.x-k8s.io/maas-take-over, and those that another
	// management cluster left behind. Deletion of the object releases the
	// machine. Empty: no.
	// +optional
	AllowTakeOver bool `json:"allowTakeOver,omitempty"`

	// limits restrict which parts of MAAS the identity's clusters may use.
	// Empty: everything is allowed.
	// +optional
	Limits IdentityLimits `json:"limits,omitempty,omitzero"`

	// allowedNamespaces selects the namespaces whose clusters may use the
	// identity. Without it no cluster may. An empty one, {}, allows all.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// IdentityLimits restrict which parts of a MAAS clusters may use. An empty list
// allows all. A list with one entry supplies what a machine leaves open. With
// several entries the machine must name one of them.
type IdentityLimits struct {
	// resourcePools are the resource pools that machines and the hosts of VMs
	// may be in.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	ResourcePools []string `json:"resourcePools,omitempty"`

	// zones are the availability zones that machines may be in.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Zones []string `json:"zones,omitempty"`

	// domains are the DNS domains of clusters' names and of VMs. With a list, a
	// VM that names no domain is in its cluster's dnsDomain.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Domains []string `json:"domains,omitempty"`

	// hosts are the LXD hosts that VMs may be on, by their names in MAAS.
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

	// namespace of the Secret. Only the manager's own namespace is accepted,
	// and you can leave it out. Otherwise anybody who makes identities could
	// send the apiKey of any Secret anywhere.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// AllowedNamespaces selects namespaces: those of the list, and those that the
// selector matches. Without both, all namespaces are allowed.
type AllowedNamespaces struct {
	// list names the allowed namespaces.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	List []string `json:"list,omitempty"`

	// selector matches namespaces by their labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// MaasClusterIdentity names a MAAS and a user of it, for the clusters of
// several namespaces.
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

	// spec is the identity that you want.
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
