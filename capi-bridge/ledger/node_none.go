//go:build !dqlite

package ledger

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// This build cannot run a node: it keeps a ledger only in a file.

// checkNodeBuild refuses to run a node.
func checkNodeBuild() error { return noClusterError() }

func startNode(context.Context, nodeConfig) (node, error) { return nil, noClusterError() }

func connectCluster(nodeConfig) (clusterAccess, error) { return nil, noClusterError() }

func prepareNewCluster(string) error { return noClusterError() }

func recoverCluster(string, bool) (string, error) { return "", noClusterError() }

func noClusterError() error {
	return &engine.Refusal{
		Message: "this capi-bridge cannot keep a ledger on several nodes: it was built without dqlite",
		Hint:    "Use the image capi-bridge-ledger, or build the program with make build-cluster.", Err: engine.ErrInvalid,
	}
}
