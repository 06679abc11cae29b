// Package view shows things as MAAS's answers do: machines, VM hosts, and what
// they are sorted into.
package view
