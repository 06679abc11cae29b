// Package controller names what the controllers of the bridge need: the MAAS of a
// cluster, and the API servers of workload clusters. The controllers are packages of
// their own: cluster, machine and template.
//
// A reconcile fetches the object and what it hangs on, turns it into a spec of the
// engine, lets the engine take one step, and writes down what it saw: conditions,
// addresses, the provider id. The engine decides what is to be done in MAAS, in which
// order, and whether it is safe.
package controller
