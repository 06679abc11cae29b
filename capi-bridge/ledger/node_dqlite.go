//go:build dqlite

package ledger

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/dqlite"
)

// dqliteCluster is a cluster of dqlite.
type dqliteCluster struct{ *dqlite.Cluster }

func (r dqliteCluster) listMembers(ctx context.Context) (all []member, err error) {
	of, err := r.Members(ctx)
	for _, m := range of {
		all = append(all, member{m.Address, m.Votes, m.Leads})
	}
	return all, err
}

// runningNode is a node in this process.
type runningNode struct {
	dqliteCluster
	own *dqlite.Node
}

func (n runningNode) WaitUntilMember(ctx context.Context) error  { return n.own.WaitUntilMember(ctx) }
func (n runningNode) IsLeader(ctx context.Context) (bool, error) { return n.own.IsLeader(ctx) }
func (n runningNode) Close(ctx context.Context) error            { return n.own.Close(ctx) }

// identity returns the certificate that proves a node's membership, for a host.
func (c nodeConfig) identity(host string) (dqlite.Identity, error) {
	authority, err := access.OpenClusterAuthority(c.folder, time.Now())
	if err != nil {
		return dqlite.Identity{}, err
	}
	pair, err := authority.IssueNode(host, time.Now())
	return dqlite.Identity{Certificate: pair, Signers: authority.Pool()}, err
}

// checkNodeBuild accepts that this process runs a node.
func checkNodeBuild() error { return nil }

// startNode starts a node.
func startNode(ctx context.Context, c nodeConfig) (node, error) {
	host, _, err := net.SplitHostPort(c.address)
	if err != nil {
		return nil, err
	}
	identity, err := c.identity(host)
	if err != nil {
		return nil, err
	}
	n, err := dqlite.StartNode(ctx, dqlite.Config{Folder: c.dataFolder(), Address: c.address, Peers: slices.DeleteFunc(slices.Clone(c.peers), func(peer string) bool { return peer == c.address }), Identity: identity, Log: c.log})
	if err != nil {
		return nil, err
	}
	return runningNode{dqliteCluster{n.Cluster}, n}, nil
}

// connectCluster connects to the cluster of the node in a folder.
func connectCluster(c nodeConfig) (clusterAccess, error) {
	if !access.HasClusterAuthority(c.folder) {
		return nil, c.checkKey()
	}
	identity, err := c.identity("localhost")
	if err != nil {
		return nil, err
	}
	cluster, err := dqlite.Connect(c.dataFolder(), identity, c.log)
	if err != nil {
		return nil, err
	}
	return dqliteCluster{cluster}, nil
}

func prepareNewCluster(data string) error { return dqlite.PrepareNewCluster(data) }

func recoverCluster(data string, confirm bool) (last string, err error) {
	if confirm {
		return dqlite.Recover(data)
	}
	return dqlite.LastEntry(data)
}
