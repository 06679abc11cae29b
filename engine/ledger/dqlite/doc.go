// Package dqlite keeps a ledger on the nodes of a cluster: each node has a copy of the
// database, and a write is done when most of them have it. It is built with the tag
// dqlite alone, by cgo and the C library that "make dqlite" makes.
//
// Nodes know each other by certificates of the cluster's own authority. Whoever has one
// may read and write all of the database and change who is a member, so no client of the
// ledger service gets one.
//
// The SQL is that of engine/ledger. Its statements are keyed, so the driver may send one
// again whose outcome nobody knows. No statement returns what it wrote (RETURNING): a
// node hangs at that.
package dqlite
