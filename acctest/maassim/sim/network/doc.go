// Package network has the operations on subnets, ranges and addresses, on DNS names, and
// on the interfaces of machines.
package network
