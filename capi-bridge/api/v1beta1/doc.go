// Package v1beta1 holds the kinds that you write for clusters on MAAS:
// MaasCluster and MaasMachine, their templates, and MaasClusterIdentity. An
// identity names the MAAS of a cluster.
//
// Group, version, kinds and field names are those of the earlier provider for
// MAAS, so that its objects stay as they are. Several of its fields mean the
// same. MaasMachineSpec.Resolve and MaasClusterSpec.Resolve turn them into one
// value, in memory only, and name the fields that contradict each other.
//
// The kinds implement the contract v1beta2 of Cluster API.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
