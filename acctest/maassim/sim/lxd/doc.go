// Package lxd is LXD's own API: routes, who may call them, and handlers, on the
// part of the world that is one LXD. Who listens and speaks TLS is package sim.
package lxd
