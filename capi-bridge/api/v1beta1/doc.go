// Package v1beta1 holds the kinds that Cluster API's users write for clusters
// on MAAS: MaasCluster and MaasMachine, their templates, and
// MaasClusterIdentity, which says with which MAAS a cluster talks.
//
// Group, version, kinds and field names are those of the provider for MAAS
// that came before, so that its objects stay as they are. Several fields of
// it say the same thing in different words; MaasMachineSpec.Resolve and
// MaasClusterSpec.Resolve make one thing of them, in memory only, and name the
// fields that contradict each other.
//
// The kinds implement the contract v1beta2 of Cluster API.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
