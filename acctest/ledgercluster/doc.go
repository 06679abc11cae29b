// Package ledgercluster tries a ledger that three nodes have together: real processes,
// each with a network of its own, are killed, stopped, cut off and filled up while clients
// write. "make test-cluster" builds the program and runs it, as root.
package ledgercluster
