// Package kubetest gives a test a Kubernetes of its own. It has a real etcd and
// API server, a controller manager where the test wants one, and Cluster API's
// unmodified managers. clusterctl installs what a release ships.
//
// There are no containers and no nodes. The program of a Deployment runs as a
// process, with the arguments, the environment and the rights of the Deployment
// in the cluster: see [ControlPlane.RunManager].
//
// All programs listen on 127.0.0.1. They end with the test or, if the test is
// killed, with its process.
package kubetest
