// Package kubetest gives a test a Kubernetes of its own: a real etcd and API
// server, a controller manager where it is wanted, Cluster API's unmodified
// managers, and clusterctl to install what a release would ship.
//
// There are no containers and no nodes. What a Deployment would run is run as
// a process instead, with the arguments, the environment and the rights that
// the Deployment has in the cluster: see [ControlPlane.RunManager].
//
// Everything listens on 127.0.0.1, and ends with the test or, where that is
// killed, with its process.
package kubetest
