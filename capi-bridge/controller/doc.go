// Package controller keeps MaasClusters and MaasMachines as they are wanted.
//
// A reconcile fetches what the object hangs on, turns it into a spec of the
// engine, lets the engine take one step, and writes down what it saw: conditions,
// addresses, the provider id. What is to be done in MAAS, in which order, and
// whether it is safe, is decided by the engine.
package controller
