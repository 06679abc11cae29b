//go:build dqlite

package dqlite

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/canonical/go-dqlite/v3/client"
	"github.com/canonical/go-dqlite/v3/driver"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// The files that go-dqlite writes into the folder of a node.
const (
	infoFile  = "info.yaml"    // id and address of the node
	nodesFile = "cluster.yaml" // the members that the node knows
	joinFile  = "join"         // exists until the node is a member
)

// database is the name of the database in the cluster.
const database = "ledger"

// Identity proves to other nodes that this node belongs to their cluster.
type Identity struct {
	Certificate tls.Certificate
	Signers     *x509.CertPool // the cluster's authority
}

// Cluster connects to the nodes of a cluster.
type Cluster struct {
	nodes    client.NodeStore
	identity Identity
	log      *slog.Logger
	own      ownNode // empty: no node runs in this process
}

// ownNode is the node that runs in this process.
type ownNode struct{ address, socket string }

// Connect returns the cluster of the node in a folder. That node need not run.
func Connect(folder string, identity Identity, log *slog.Logger) (*Cluster, error) {
	known, err := client.NewYamlNodeStore(filepath.Join(folder, nodesFile))
	if err != nil {
		return nil, fmt.Errorf("cannot read the members of the cluster in %s: %w", folder, err)
	}
	nodes, err := known.Get(context.Background())
	if err != nil || len(nodes) == 0 {
		return nil, &engine.Refusal{
			Message: fmt.Sprintf("there is no node of a cluster in %s", folder),
			Hint:    "Run the command on a machine on which capi-bridge ledger serve --node has run.", Err: errors.Join(engine.ErrNotFound, err),
		}
	}
	return &Cluster{nodes: known, identity: identity, log: log}, nil
}

// connectTo returns a cluster by the addresses of some of its nodes.
func connectTo(addresses []string, identity Identity, log *slog.Logger) *Cluster {
	known := client.NewInmemNodeStore()
	var nodes []client.NodeInfo
	for _, address := range addresses {
		nodes = append(nodes, client.NodeInfo{Address: address})
	}
	_ = known.Set(context.Background(), nodes) // cannot fail in memory
	return &Cluster{nodes: known, identity: identity, log: log}
}

// The longest time to connect to a node, and to learn from it which node leads. A node that
// hangs for longer is skipped.
const (
	dialTimeout    = 2 * time.Second
	attemptTimeout = 2 * time.Second
)

// maxStatements is how many statements of a node run at once. The leader does one write at a
// time. Reads run beside it.
const maxStatements = 8

// Open opens the ledger. now is this node's clock.
func (c *Cluster) Open(ctx context.Context, now func() time.Time) (*ledger.Ledger, error) {
	db, err := c.connect()
	if err != nil {
		return nil, err
	}
	l, err := ledger.OpenDatabase(ctx, ledger.Database{DB: db, ClassifyError: classifyError, MaxStatements: maxStatements, Replicated: true}, now)
	return l, engine.AsLedgerError("of the cluster", err)
}

// connect returns a database whose statements run on the leader.
func (c *Cluster) connect() (*sql.DB, error) {
	d, err := driver.New(c.nodes,
		driver.WithDialFunc(c.dial), driver.WithLogFunc(c.logFunc()),
		driver.WithAttemptTimeout(attemptTimeout), driver.WithConnectionBackoffFactor(20*time.Millisecond),
		driver.WithConnectionBackoffCap(200*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("cannot make the driver of the cluster: %w", err)
	}
	connector, err := d.OpenConnector(database)
	if err != nil {
		return nil, fmt.Errorf("cannot open the database of the cluster: %w", err)
	}
	return sql.OpenDB(connector), nil
}

// dial connects to a node over TLS, where both prove that they belong to the cluster. The node
// of this process needs no proof: it is reached by a socket that nobody else knows.
func (c *Cluster) dial(ctx context.Context, address string) (net.Conn, error) {
	if address == c.own.address && c.own.socket != "" {
		return (&net.Dialer{}).DialContext(ctx, "unix", c.own.socket)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&tls.Dialer{
		NetDialer: &net.Dialer{KeepAliveConfig: keepAlive},
		Config: &tls.Config{
			MinVersion: tls.VersionTLS13, ServerName: host,
			Certificates: []tls.Certificate{c.identity.Certificate}, RootCAs: c.identity.Signers,
		},
	}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the node %s: %w", address, err)
	}
	return conn, nil
}

// keepAlive makes a connection fail within some seconds after its node vanished.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: 3 * time.Second, Count: 3}

// Member is a node of a cluster.
type Member struct {
	ID      uint64
	Address string
	Votes   bool // a write needs the consent of most voters
	Leads   bool
}

// Members lists the nodes, sorted by address.
func (c *Cluster) Members(ctx context.Context) ([]Member, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	leader, err := c.connectLeader(ctx)
	if err != nil {
		return nil, err
	}
	defer leader.Close()
	return listMembers(ctx, leader)
}

func listMembers(ctx context.Context, leader *client.Client) ([]Member, error) {
	nodes, err := leader.Cluster(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the members of the cluster: %w", err)
	}
	first, err := leader.Leader(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot ask who leads the cluster: %w", err)
	}
	var all []Member
	for _, n := range nodes {
		all = append(all, Member{ID: n.ID, Address: n.Address, Votes: n.Role == client.Voter, Leads: first != nil && n.ID == first.ID})
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.Address, b.Address) })
	return all, nil
}

// askTimeout is the longest time of a question to the leader. It includes the search for the
// leader.
const askTimeout = 20 * time.Second

// findTimeout is how long the search for a leader may take. An election takes a second or two.
const findTimeout = 10 * time.Second

// connectLeader connects to the leading node. An error is an *engine.Refusal.
func (c *Cluster) connectLeader(ctx context.Context) (*client.Client, error) {
	within, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	leader, err := client.FindLeader(within, c.nodes, client.WithDialFunc(c.dial), client.WithLogFunc(c.logFunc()))
	if err != nil {
		return nil, leaderlessError(c.describeReachability(ctx))
	}
	return leader, nil
}

// describeReachability says of each node whether it answers, or why not.
func (c *Cluster) describeReachability(ctx context.Context) string {
	nodes, err := c.nodes.Get(ctx)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
	defer cancel()
	var all []string
	for _, n := range nodes {
		conn, err := c.dial(ctx, n.Address)
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		_ = conn.Close()
		all = append(all, n.Address+" answers")
	}
	return strings.Join(all, "; ")
}

// Remove removes a node that will not come back with its data. ErrNotFound if no member has the
// address.
func (c *Cluster) Remove(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	leader, err := c.connectLeader(ctx)
	if err != nil {
		return err
	}
	defer leader.Close()
	members, err := listMembers(ctx, leader)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(members, func(m Member) bool { return m.Address == address })
	switch {
	case n < 0:
		return &engine.Refusal{
			Message: fmt.Sprintf("%s is not a member of the cluster", address),
			Hint:    "List the members: capi-bridge ledger cluster status.", Err: engine.ErrNotFound,
		}
	case members[n].Leads:
		return &engine.Refusal{
			Message: fmt.Sprintf("%s leads the cluster, so it runs and has its data", address),
			Hint:    "Stop that node first: another one leads then.", Err: engine.ErrBusy,
		}
	}
	if err := leader.Remove(ctx, members[n].ID); err != nil {
		return fmt.Errorf("cannot remove %s from the cluster: %w", address, err)
	}
	return nil
}

// logFunc logs the messages of go-dqlite, which are about connections and roles.
func (c *Cluster) logFunc() client.LogFunc {
	return func(level client.LogLevel, format string, args ...any) {
		if c.log == nil {
			return
		}
		to := slog.LevelDebug
		if level == client.LogError {
			to = slog.LevelWarn
		}
		if c.log.Enabled(context.Background(), to) {
			c.log.Log(context.Background(), to, "cluster", "says", fmt.Sprintf(format, args...))
		}
	}
}
