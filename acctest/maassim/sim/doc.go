// Package sim is a MAAS and the LXD servers behind its VM hosts in one
// process: what a client of MAAS's API 2.0 can be tested against without
// hardware.
//
// A [Model] gives the size and the manner of the world, [New] builds it, and
// [Start] serves it on a loopback port for a test. It answers from its state.
// It models what is awkward about the real thing, and not only what is
// documented: composes and deletes that leak an instance, refreshes that adopt
// or remove VMs, VM hosts that are saved although nobody could reach them, and
// a region that goes on composing after its caller has gone.
//
// Each LXD also serves its own API over TLS, to who dials it with
// [Sim.DialContext] or, where [Model].LXDListen says so, over loopback.
//
// A test steers the world through the methods of [Sim], or over HTTP below
// /_sim/: faults, unreachable LXDs, transitions that finish or fail now,
// changes that an operator makes behind the client's back. [Sim.Journal] says
// what the client called, [Sim.Instances] what is really there.
//
// The package is the face. The state is package world; what MAAS and LXD do with
// it is in the packages beside that.
package sim
