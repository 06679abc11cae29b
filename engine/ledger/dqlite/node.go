//go:build dqlite

package dqlite

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	godqlite "github.com/canonical/go-dqlite/v3"
	"github.com/canonical/go-dqlite/v3/app"
	"github.com/canonical/go-dqlite/v3/client"

	"github.com/maaslxd/maaslxd/engine"
)

// Config describes a node of a cluster.
type Config struct {
	Folder   string   // for the node's data; created if missing
	Address  string   // HOST:PORT at which other nodes reach it
	Peers    []string // the addresses of the other nodes
	Identity Identity
	Log      *slog.Logger
}

// Node is a node that runs in this process.
type Node struct {
	*Cluster
	config   Config
	app      *app.App
	listener net.Listener
	conns    chan net.Conn
	accepted sync.WaitGroup
}

// voters is how many nodes vote. Three survive the loss of one.
const voters = 3

// roundTrip is the network latency from which go-dqlite derives its timeouts. An election begins
// after 15 times this time without a message of the leader.
const roundTrip = 20 * time.Millisecond

// busyTimeout is how long a write on the leader waits for other writes.
const busyTimeout = 2 * time.Second

// snapshots limits what a node keeps in memory and on disk. Rows are small and few.
var snapshots = godqlite.SnapshotParams{Threshold: 1024, Trailing: 1024}

// rolesCheckInterval is how often the leader checks which nodes vote.
const rolesCheckInterval = 5 * time.Second

// StartNode runs a node. A member rejoins the cluster in its folder. Another node joins its
// peers' cluster. After PrepareNewCluster it is the first node of a new cluster. While no peer
// is in a cluster, the error is an *engine.Refusal with ErrUnavailable.
func StartNode(ctx context.Context, c Config) (*Node, error) {
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return nil, folderError(c.Folder, err)
	}
	peers, err := c.peersToJoin(ctx)
	if err != nil {
		return nil, err
	}
	n := &Node{config: c, conns: make(chan net.Conn)}
	if n.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", c.listenAddress()); err != nil {
		return nil, &engine.Refusal{
			Message: fmt.Sprintf("the node cannot listen at %s: %v", c.listenAddress(), err),
			Hint:    "Another program may have the port: ss -ltnp. Stop it, or give another address by --node.", Err: engine.ErrConflict,
		}
	}
	reach := &Cluster{identity: c.Identity, log: c.Log}
	socket := "@maaslxd-ledger-" + rand.Text()
	options := []app.Option{
		app.WithUnixSocket(socket), app.WithAddress(c.Address), app.WithCluster(peers), app.WithExternalConn(reach.dial, n.conns), app.WithLogFunc(reach.logFunc()),
		app.WithVoters(voters), app.WithStandBys(0), app.WithRolesAdjustmentFrequency(rolesCheckInterval),
		app.WithNetworkLatency(roundTrip), app.WithBusyTimeout(busyTimeout), app.WithSnapshotParams(snapshots),
		// The node never deletes damaged files to continue. An operator decides that.
		app.WithAutoRecovery(false),
	}
	if n.app, err = app.New(c.Folder, options...); err != nil {
		return nil, errors.Join(startError(c.Folder, err), n.listener.Close())
	}
	n.accepted.Go(n.acceptPeers)
	if n.Cluster, err = Connect(c.Folder, c.Identity, c.Log); err != nil {
		return nil, errors.Join(err, n.Close(ctx))
	}
	n.own = ownNode{c.Address, socket}
	if err := c.removeFoundingFile(); err != nil {
		return nil, errors.Join(err, n.Close(ctx))
	}
	return n, nil
}

// WaitUntilMember waits until the node is a member of the cluster.
func (n *Node) WaitUntilMember(ctx context.Context) error {
	if err := n.app.Ready(ctx); err != nil {
		return leaderlessError("the node has not become a member: " + n.describeReachability(ctx))
	}
	return nil
}

// Close hands over the leadership, within the time of ctx, and stops the node.
func (n *Node) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, handoverTimeout)
	defer cancel()
	if err := n.app.Handover(ctx); err != nil && n.config.Log != nil {
		n.config.Log.Info("the node hands nothing over", "because", err)
	}
	err := n.listener.Close()
	n.accepted.Wait() // no goroutine sends to conns now
	close(n.conns)
	return errors.Join(err, n.app.Close())
}

// handoverTimeout is how long a node may take to hand over the leadership.
const handoverTimeout = 5 * time.Second

// acceptPeers accepts connections of other nodes until the listener is closed.
func (n *Node) acceptPeers() {
	for {
		conn, err := n.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // e.g. too many open files
			time.Sleep(10 * time.Millisecond)
			continue
		}
		n.accepted.Go(func() { n.acceptPeer(conn) })
	}
}

// acceptPeer accepts a connection if its certificate belongs to the cluster.
func (n *Node) acceptPeer(conn net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive)
	}
	secured := tls.Server(conn, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{n.config.Identity.Certificate},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: n.config.Identity.Signers,
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		if n.config.Log != nil {
			n.config.Log.Log(ctx, refusalLevel(err), "a connection to the node was refused", "from", conn.RemoteAddr().String(), "error", err)
		}
		_ = conn.Close()
		return
	}
	n.conns <- peerConn{secured}
}

// refusalLevel is the level at which the log has a failed handshake. A peer that goes away
// before its end is normal while nodes start: dqlite only tries whether a node is there.
func refusalLevel(err error) slog.Level {
	if errors.Is(err, io.EOF) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// peerConn hides the *tls.Conn from go-dqlite, which would first write the answer of an HTTP
// server to it.
type peerConn struct{ net.Conn }

// listenAddress returns the address to listen at. If the node has a name, it listens at all
// addresses: the name may belong to another machine.
func (c Config) listenAddress() string {
	host, port, _ := net.SplitHostPort(c.Address)
	if net.ParseIP(host) == nil && host != "localhost" {
		host = ""
	}
	return net.JoinHostPort(host, port)
}

// peersToJoin returns the peers of the cluster that the node joins. It returns none if the node
// is a member already, or founds the cluster.
func (c Config) peersToJoin(ctx context.Context) ([]string, error) {
	known := filepath.Join(c.Folder, infoFile)
	_, err := os.Stat(filepath.Join(c.Folder, joinFile))
	if err == nil { // the node stopped before it was a member
		return c.Peers, nil
	}
	if _, err := os.Stat(known); err == nil {
		return nil, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, folderError(c.Folder, err)
	}
	if !c.isFounder() {
		return c.Peers, c.checkPeers(ctx)
	}
	if len(c.Peers) == 0 {
		return nil, nil
	}
	if err := c.checkPeers(ctx); errors.Is(err, engine.ErrUnavailable) {
		return nil, nil
	}
	// There is a cluster already. A second one would give the same room again.
	return nil, errors.Join(&engine.Refusal{
		Message: fmt.Sprintf("the other nodes are in a cluster already, and %s was to begin another one", c.Address),
		Hint:    fmt.Sprintf("Start it again: it joins them. If it was a member before, run on another node first: capi-bridge ledger cluster remove %s.", c.Address),
		Err:     engine.ErrConflict,
	}, c.removeFoundingFile())
}

// checkPeers checks that the peers are in a cluster which has no member with this address.
func (c Config) checkPeers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	members, err := connectTo(c.Peers, c.Identity, c.Log).Members(ctx)
	switch {
	case err != nil:
		return &engine.Refusal{
			Message: fmt.Sprintf("the node %s is in no cluster yet: %v", c.Address, err),
			Hint:    "Where there is a cluster, see that its nodes run and are reached. Where there is none yet, begin it on one node, once: capi-bridge ledger cluster init.", Err: engine.ErrUnavailable,
		}
	case slices.ContainsFunc(members, func(m Member) bool { return m.Address == c.Address }):
		return &engine.Refusal{
			Message: fmt.Sprintf("the cluster has a member %s already, and %s has none of its data", c.Address, c.Folder),
			Hint:    fmt.Sprintf("If its disk was lost, run on another node: capi-bridge ledger cluster remove %s. Then start this one again.", c.Address),
			Err:     engine.ErrConflict,
		}
	}
	return nil
}

// foundingFile is a file that marks the node in a folder as the first one of a new cluster.
const foundingFile = "founding"

// PrepareNewCluster makes the node in a folder begin a new cluster when it starts. ErrConflict
// if the node is in a cluster already.
func PrepareNewCluster(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, infoFile)); err == nil {
		return &engine.Refusal{
			Message: fmt.Sprintf("the node in %s is in a cluster already", folder),
			Hint:    "See capi-bridge ledger cluster status. A second cluster would not know what the first one has placed.", Err: engine.ErrConflict,
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return folderError(folder, err)
	}
	if err := os.WriteFile(filepath.Join(folder, foundingFile), nil, 0o600); err != nil {
		return folderError(folder, err)
	}
	return nil
}

func (c Config) isFounder() bool {
	_, err := os.Stat(filepath.Join(c.Folder, foundingFile))
	return err == nil
}

// removeFoundingFile records that the cluster has begun. So a node that loses its disk does not
// begin a second one.
func (c Config) removeFoundingFile() error {
	err := os.Remove(filepath.Join(c.Folder, foundingFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return folderError(c.Folder, err)
	}
	return nil
}

func folderError(folder string, err error) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("the folder of the node %s cannot be used: %v", folder, err),
		Hint:    "Name a folder on a local disk, in which this user may make files, by --dir.", Err: engine.ErrForbidden,
	}
}

// startError says why go-dqlite cannot start a node.
func startError(folder string, err error) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("the node in %s cannot start: %v", folder, err),
		Hint: "If its address has changed, give it the former one by --node. If its files are damaged, move the folder away, " +
			"remove the node on another one (capi-bridge ledger cluster remove) and start it again.", Err: engine.ErrInvalid,
	}
}

var _ client.DialFunc = (*Cluster)(nil).dial

// IsLeader reports whether this node leads the cluster.
func (n *Node) IsLeader(ctx context.Context) (bool, error) {
	own, err := n.app.Client(ctx)
	if err != nil {
		return false, fmt.Errorf("cannot ask the node who leads: %w", err)
	}
	defer own.Close()
	leader, err := own.Leader(ctx)
	if err != nil {
		return false, fmt.Errorf("cannot ask the node who leads: %w", err)
	}
	return leader != nil && leader.ID == n.app.ID(), nil
}
