package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MaasClusterSpec is the MAAS part of the cluster that you want.
type MaasClusterSpec struct {
	// dnsDomain is the DNS domain in MAAS for the name of the cluster's API
	// endpoint. It cannot change, because running machines know the cluster by
	// that name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="dnsDomain cannot change, because the machines of the cluster know its API by a name in it; make a new cluster"
	DNSDomain string `json:"dnsDomain"`

	// controlPlaneEndpoint is the address of the cluster's API. The manager
	// keeps the values that you set. Without a host it makes a name in
	// dnsDomain. Without a port it takes 6443. The endpoint cannot change once
	// host and port are set.
	// +optional
	ControlPlaneEndpoint clusterv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// failureDomains are the availability zones in MAAS that machines may be
	// in. Empty: all zones that have room.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	FailureDomains []string `json:"failureDomains,omitempty"`

	// preferredSubnets are subnets in MAAS, by CIDR or name. The API is
	// published with addresses from them. A machine in several of them is
	// published with the first one in this list. Empty: the subnets of the
	// ConfigMap maas-preferred-subnet in the cluster's namespace. Without that
	// ConfigMap: any address.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	PreferredSubnets []string `json:"preferredSubnets,omitempty"`

	// lxdControlPlaneCluster turns the cluster's bare-metal machines into LXD
	// hosts. It means the same as lxdConfig.enabled.
	// +optional
	LXDControlPlaneCluster *bool `json:"lxdControlPlaneCluster,omitempty"`

	// lxdConfig describes how the cluster's bare-metal machines become LXD
	// hosts. A change applies to machines that are made after it. A machine
	// that already runs is registered once somebody has set up its LXD.
	// +optional
	LXDConfig *LXDHostConfig `json:"lxdConfig,omitempty"`

	// identityRef names the credentials for the cluster's MAAS. Without it, the
	// manager uses its own. It cannot change while the cluster lives.
	// +optional
	IdentityRef *MaasIdentityReference `json:"identityRef,omitempty"`
}

// IdentityKind is the kind of the object that holds the credentials.
// +kubebuilder:validation:Enum=MaasClusterIdentity;Secret
type IdentityKind string

// The kinds of identities.
const (
	// IdentityKindCluster is a MaasClusterIdentity, which serves several
	// namespaces.
	IdentityKindCluster IdentityKind = "MaasClusterIdentity"
	// IdentityKindSecret is a Secret in the cluster's own namespace.
	IdentityKindSecret IdentityKind = "Secret"
)

// MaasIdentityReference names a MaasClusterIdentity, or a Secret in the
// cluster's namespace.
type MaasIdentityReference struct {
	// kind is MaasClusterIdentity (the default) or Secret. The Secret is in the
	// cluster's namespace and has the keys maasEndpoint, apiKey and, if needed,
	// caBundle. A cluster with its own Secret makes no LXD hosts: the manager
	// gives its LXD key pair to no tenant's MAAS.
	// +optional
	Kind IdentityKind `json:"kind,omitempty"`

	// name of the MaasClusterIdentity or Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// MaasClusterStatus is the observed state of a cluster.
type MaasClusterStatus struct {
	// initialization shows the progress of the cluster's first provisioning.
	// +optional
	Initialization MaasClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// ready is true when the cluster's endpoint and failure domains are known.
	// It serves readers of older versions; look at the condition Ready.
	// +optional
	// +kubebuilder:default=false
	Ready bool `json:"ready"`

	// network is the part of the cluster that MAAS publishes.
	// +optional
	Network Network `json:"network,omitempty,omitzero"`

	// failureDomains are the availability zones in MAAS that machines may be
	// in.
	// +optional
	FailureDomains FailureDomains `json:"failureDomains,omitempty"`

	// conditions of the cluster.
	// +optional
	Conditions Conditions `json:"conditions,omitempty"`
}

// MaasClusterInitializationStatus shows the progress of a cluster's first
// provisioning.
// +kubebuilder:validation:MinProperties=1
type MaasClusterInitializationStatus struct {
	// provisioned is true once machines can be made. It never becomes false
	// again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// Network is the part of a cluster that MAAS publishes.
type Network struct {
	// dnsName is the full name of the API's DNS record, or the host that you
	// set.
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

	// spec is the cluster that you want.
	// +required
	Spec MaasClusterSpec `json:"spec,omitzero"`

	// status is the observed state of the cluster.
	// +optional
	Status MaasClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions implements conditions.Getter of Cluster API.
func (c *MaasCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements conditions.Setter of Cluster API.
func (c *MaasCluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// MaasClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type MaasClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MaasCluster `json:"items"`
}
