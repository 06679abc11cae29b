// Package lxd is LXD's own API: its routes, permissions and handlers. They work on the
// part of the world that is one LXD. Package sim listens and does TLS.
package lxd
