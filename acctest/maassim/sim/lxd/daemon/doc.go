// Package daemon knows what an LXD of a version accepts, apart from its API:
// the keys of its configuration, its storage pools and their sizes, and the
// certificates that it trusts.
package daemon
