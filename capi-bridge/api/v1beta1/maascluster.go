package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MaasClusterSpec is a wanted cluster, as far as MAAS is concerned.
type MaasClusterSpec struct {
	// dnsDomain is the domain of MAAS in which the cluster's API endpoint gets
	// its name. It cannot change: machines that run know the cluster by it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="dnsDomain cannot change, because the machines of the cluster know its API by a name in it; make a new cluster"
	DNSDomain string `json:"dnsDomain"`

	// controlPlaneEndpoint is where the cluster's API is reached. What is given
	// is honoured; without a host, a name in dnsDomain is made, and without a
	// port it is 6443. It cannot change once host and port are set.
	// +optional
	ControlPlaneEndpoint clusterv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// failureDomains are availability zones of MAAS that machines may be in.
	// Empty: all zones that have room.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	FailureDomains []string `json:"failureDomains,omitempty"`

	// preferredSubnets are subnets of MAAS, by CIDR or name, whose addresses are
	// published for the API; of several, the first that a machine is in.
	// Empty: those of the ConfigMap maas-preferred-subnet in the cluster's
	// namespace; without that, any address.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	PreferredSubnets []string `json:"preferredSubnets,omitempty"`

	// lxdControlPlaneCluster makes LXD hosts of the cluster's bare-metal
	// machines. It says the same as lxdConfig.enabled.
	// +optional
	LXDControlPlaneCluster *bool `json:"lxdControlPlaneCluster,omitempty"`

	// lxdConfig says how the cluster's bare-metal machines become LXD hosts. A
	// change counts for machines that are made from then on. Those that run already
	// are registered once somebody has set up their LXD.
	// +optional
	LXDConfig *LXDHostConfig `json:"lxdConfig,omitempty"`

	// identityRef says which MAAS the cluster is on. Without it, it is the one
	// that the manager was given. It cannot change while the cluster lives.
	// +optional
	IdentityRef *MaasIdentityReference `json:"identityRef,omitempty"`
}

// IdentityKind is what kind of object credentials are found by.
// +kubebuilder:validation:Enum=MaasClusterIdentity;Secret
type IdentityKind string

// The kinds of identities.
const (
	// IdentityKindCluster is a MaasClusterIdentity, of several namespaces.
	IdentityKindCluster IdentityKind = "MaasClusterIdentity"
	// IdentityKindSecret is a Secret of the cluster's own namespace.
	IdentityKindSecret IdentityKind = "Secret"
)

// MaasIdentityReference names a MaasClusterIdentity, or a Secret of the cluster's
// namespace.
type MaasIdentityReference struct {
	// kind is MaasClusterIdentity (empty says the same) or Secret: one of the
	// cluster's namespace, with the keys maasEndpoint, apiKey and, if need be,
	// caBundle. Clusters with a Secret of their own make no LXD hosts: the manager
	// gives its key pair for LXD to no MAAS of a tenant's.
	// +optional
	Kind IdentityKind `json:"kind,omitempty"`

	// name of the MaasClusterIdentity or Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// MaasClusterStatus is what was seen of a cluster.
type MaasClusterStatus struct {
	// initialization says how far the cluster is for the first time.
	// +optional
	Initialization MaasClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// ready tells that the cluster's endpoint and failure domains are known. It
	// is for readers of older versions; look at the condition Ready.
	// +optional
	// +kubebuilder:default=false
	Ready bool `json:"ready"`

	// network is what MAAS has of the cluster.
	// +optional
	Network Network `json:"network,omitempty,omitzero"`

	// failureDomains are availability zones of MAAS that machines may be in.
	// +optional
	FailureDomains FailureDomains `json:"failureDomains,omitempty"`

	// conditions of the cluster.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`
}

// MaasClusterInitializationStatus says how far a cluster is for the first
// time.
// +kubebuilder:validation:MinProperties=1
type MaasClusterInitializationStatus struct {
	// provisioned is true once machines can be made. It never turns false
	// again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// Network is what MAAS has of a cluster.
type Network struct {
	// dnsName is the full name of the API's DNS record, or the host that was
	// given.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	DNSName string `json:"dnsName,omitempty"`
}

// MaasCluster is a cluster on MAAS.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=maasclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that it belongs to"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Host of the API"
// +kubebuilder:printcolumn:name="Port",type="integer",JSONPath=".spec.controlPlaneEndpoint.port",description="Port of the API",priority=1
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether machines can be made and the API is published"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason",description="Why it is ready or not"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since it was created"
type MaasCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted of the cluster.
	// +required
	Spec MaasClusterSpec `json:"spec,omitzero"`

	// status is what was seen of the cluster.
	// +optional
	Status MaasClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions are the conditions of the cluster.
func (c *MaasCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the cluster.
func (c *MaasCluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// MaasClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type MaasClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MaasCluster `json:"items"`
}
