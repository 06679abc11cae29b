// Package driver is MAAS's driver for LXD, as a rack controller runs it. It connects to
// the LXD at an address, authenticates, and reads and changes the power of VMs. It also
// works with real LXDs that a lender provides.
package driver
