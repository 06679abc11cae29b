// Package workload is the inside of the machines that a MAAS deploys with Cluster
// API's bootstrap data: what kubeadm and the kubelet would do there. The MAAS is a
// simulator, or any other one whose guests do not boot.
//
// A machine that is Deployed and on runs its user-data, as cloud-init would.
// "kubeadm init" makes a cluster with the authorities in the user-data: an API
// server and an etcd, both in memory, that listen at the machine's address.
// "kubeadm join" needs a working endpoint, as in earnest: a name that MAAS's
// DNS resolves to a control plane that runs, the right authority behind it,
// and a token that is good. The Node that comes of it has no provider id,
// unless the user-data says one.
//
// Machines of a simulator whose Model.LXDListen is "auto" have loopback
// addresses, where their API servers can listen without any rights. What is
// missing is a resolver that knows MAAS's names; [Workloads.Environment] gives
// programs a proxy that does, so that they use the very endpoint that was
// published. Where the machines have addresses that this system has not
// ([Options.Elsewhere]), the proxy leads from those to loopback addresses.
package workload
