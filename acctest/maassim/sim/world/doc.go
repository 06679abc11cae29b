// Package world holds the state of MAAS's database and of the LXDs, and the clock that
// changes it. A [Keeper] has the lock for all reads and changes of a world. A call lets
// others run with [World.Sleep].
//
// The package defines the objects and finds them. MAAS's behaviour is in the packages
// above it: driver connects to LXDs, lifecycle changes the status of machines, and hosts
// makes and adopts VMs.
package world
