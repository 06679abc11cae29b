// Package daemon knows what each version of LXD accepts: the keys of its configuration,
// its storage pools and their sizes, and its trusted certificates. LXD's API is in package
// lxd.
package daemon
