// Package world is what MAAS's database and the LXDs hold, and the clock by
// which it changes. A [Keeper] has the lock: all of a world is read and changed
// with it, and [World.Sleep] is how a call lets others have it.
//
// The package knows what things are and how they are found. What MAAS does with
// them is in the packages above: driver reaches LXDs, lifecycle moves machines,
// hosts makes and adopts VMs.
package world
