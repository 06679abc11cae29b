// Package ledgercluster tests a ledger on three nodes. They are real processes,
// each with a network of its own. The tests kill, stop, cut off and fill them
// up while clients write. "make test-cluster" builds the program and runs the
// tests, as root.
package ledgercluster
