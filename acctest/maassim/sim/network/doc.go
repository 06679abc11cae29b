// Package network has the operations on subnets, ranges and addresses, on names
// in the DNS, and on the interfaces of machines.
package network
