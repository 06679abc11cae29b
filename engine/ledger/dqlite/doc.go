// Package dqlite keeps a ledger on the nodes of a cluster. Each node has a copy
// of the database, and a write is done when most nodes have it. Only builds
// with the tag dqlite have it. They need cgo and the C library that "make
// dqlite" makes.
//
// Nodes know each other by certificates of the cluster's own authority. A
// holder of one can read and write the whole database and change the members.
// So no client of the ledger service gets one.
//
// The SQL is that of engine/ledger. Its statements are keyed, so the driver may
// resend one whose outcome is unknown. No statement returns what it wrote
// (RETURNING): a node hangs at that.
package dqlite
