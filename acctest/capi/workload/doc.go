// Package workload simulates the inside of the machines that a MAAS deploys
// with Cluster API's bootstrap data: what kubeadm and the kubelet would do
// there. The MAAS is a simulator, or any other one whose guests do not boot.
//
// A machine that is Deployed and on runs its user-data, as cloud-init would.
// "kubeadm init" makes a cluster with the authorities in the user-data: an API
// server and an etcd, both in memory, that listen at the machine's address.
// "kubeadm join" needs a working endpoint, as on a real machine. MAAS's DNS
// must resolve its name to a control plane that runs. The authority behind it
// must be the right one, and the token valid. The new Node has no provider id,
// unless the user-data sets one.
//
// Machines of a simulator whose Model.LXDListen is "auto" have loopback
// addresses, where their API servers can listen without any rights. This
// system's resolver does not know MAAS's names. So [Workloads.Environment]
// gives programs a proxy that does, and they use the very endpoint that was
// published. Where this system does not have the machines' addresses
// ([Options.Elsewhere]), the proxy maps them to loopback addresses.
package workload
