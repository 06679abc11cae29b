package engine

// MachineSpec is a wanted bare-metal machine: one that MAAS has, allocated and
// deployed.
type MachineSpec struct {
	// Machine is the hostname, FQDN or system id of a certain machine. Empty:
	// any Ready machine that fits Select.
	Machine string
	// Select narrows the choice where Machine is empty.
	Select Selector
	// Adopt takes the Machine as it is, Deployed by someone else. It is then
	// never released.
	Adopt bool
	// Inherit, beside Adopt, makes it ours all the same: who deployed it has
	// handed it over, and Delete releases it.
	Inherit bool
	// Interfaces are those that get a fixed address before the machine is
	// deployed; the others keep what MAAS has for them. Delete takes the addresses
	// back, for MAAS does not: it needs the system id for that once the machine is
	// deployed.
	Interfaces []FixedAddress
	// Deploy says what to install. Nil: the machine is left Allocated.
	Deploy *Deployment
}

// Selector says which machines will do. The zero value takes all bare metal.
type Selector struct {
	Zone         string
	Pool         string   // resource pool
	Tags         []string // all of them
	Architecture string   // "amd64", or "amd64/generic"
	MinCores     int
	MinMemoryMiB int64
	MinDiskGB    int64 // of the largest disk; decimal, as MAAS counts disks
}

// BareMetal is a machine of MAAS as it was last seen.
type BareMetal struct {
	Machine
	// Ours tells that the machine carries the mark of the key it was asked for
	// by.
	Ours bool
	// Finished tells that it once reached what was wanted.
	Finished bool
}
