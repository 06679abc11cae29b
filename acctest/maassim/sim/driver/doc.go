// Package driver is MAAS's driver for LXD, as a rack controller runs it: it
// reaches the LXD behind an address, is let in or refused, asks for the power of
// VMs, and works on real LXDs that were lent.
package driver
