// Package sim is a MAAS and the LXD servers behind its VM hosts in one process. It tests
// clients of MAAS's API 2.0 without hardware.
//
// A [Model] describes the size and the behaviour of the world, [New] builds it, and
// [StartServer] serves it on a loopback port for a test. All answers come from its state.
// It also has the undocumented faults of a real MAAS:
//
//   - composes and deletes that leak an instance
//   - refreshes that adopt or remove VMs
//   - VM hosts that MAAS saves although nobody can reach them
//   - a region that continues a compose after its client has gone
//
// Each LXD also serves its own API over TLS. A client dials it with [Sim.DialContext], or
// over loopback if [Model].LXDListen says so.
//
// A test controls the world through the methods of [Sim], or over HTTP below /_sim/. It
// can add faults, make LXDs unreachable, end transitions at once, and change objects
// behind the client's back. [Sim.Journal] shows the client's calls, and [Sim.Instances]
// the instances that really exist.
//
// This package is the API of the simulator. Package world holds the state, and the
// packages beside it hold the behaviour of MAAS and LXD.
package sim
