// Package controller holds what all controllers of the bridge need: the MAAS of
// a cluster, and the API servers of workload clusters. The controllers are
// packages of their own: cluster, machine and template.
//
// A reconcile fetches the object and the objects that it depends on, and makes
// a spec of the engine from them. The engine takes one step. The reconcile then
// writes down what it saw: conditions, addresses, the provider id. The engine
// decides what to do in MAAS, in which order, and whether it is safe.
package controller
