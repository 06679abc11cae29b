// Package metadata is MAAS's metadata service, which deployed machines call at their first
// boot. It also makes the files that MAAS's installer leaves on the disk for that boot.
package metadata
