// Package view shows objects as MAAS's answers do: machines, VM hosts, zones, pools and
// networks.
package view
