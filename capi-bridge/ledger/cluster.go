package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	rows "github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
)

// nodeFolder is the folder with a cluster node's data, inside the service's
// folder.
const nodeFolder = "node"

// nodeConfig says which node of a cluster a service is.
type nodeConfig struct {
	folder  string // the service's folder
	address string
	peers   []string // may include the node's own address
	keys    string   // folder of the keys that all nodes share; empty: the service's folder
	log     *slog.Logger
}

// dataFolder is the folder of the node's data.
func (c nodeConfig) dataFolder() string { return filepath.Join(c.folder, nodeFolder) }

// member is a node of a cluster, as the commands print it.
type member struct {
	address      string
	votes, leads bool
}

// clusterAccess gives access to a cluster.
type clusterAccess interface {
	// Open opens the cluster's ledger.
	Open(ctx context.Context, now func() time.Time) (*rows.Ledger, error)
	// listMembers lists the cluster's nodes, sorted by address.
	listMembers(ctx context.Context) ([]member, error)
	// Remove removes a node that will not come back with its data.
	Remove(ctx context.Context, address string) error
	// Backup writes the cluster's whole ledger to a file of SQLite.
	Backup(ctx context.Context, path string) error
}

// node is a cluster node that runs in this process.
type node interface {
	clusterAccess
	// WaitUntilMember waits until the node is a member.
	WaitUntilMember(ctx context.Context) error
	// IsLeader reports whether the node leads the others.
	IsLeader(ctx context.Context) (bool, error)
	// Close hands over the leadership, and stops the node.
	Close(ctx context.Context) error
}

// prepare refuses invalid addresses and a program that cannot run a node. Then it copies the keys
// that all nodes share, and refuses if one is missing.
func (c nodeConfig) prepare() error {
	if err := c.checkAddresses(); err != nil {
		return err
	}
	if err := checkNodeBuild(); err != nil {
		return err
	}
	return errors.Join(c.copySharedKeys(), c.checkKey())
}

// checkAddresses refuses invalid addresses.
func (c nodeConfig) checkAddresses() error {
	for _, each := range append([]string{c.address}, c.peers...) {
		host, port, err := net.SplitHostPort(each)
		if err != nil || host == "" || port == "" || port == "0" {
			return &setting.UsageError{Flag: "--node, --peer", Text: fmt.Sprintf("%q is not HOST:PORT", each), Hint: "Give the address by which the other nodes reach it, such as ledger-0.example.com:7444."}
		}
	}
	return nil
}

// checkKey refuses a missing key of the cluster.
func (c nodeConfig) checkKey() error {
	if access.HasClusterAuthority(c.folder) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("there is no %s in %s", access.ClusterKeyFile, c.folder),
		Hint:    "Run capi-bridge ledger cluster init on the first node, once, and copy its cluster-key.pem and ca-key.pem to the others (mode 0600).", Err: engine.ErrNotFound,
	}
}

// copySharedKeys copies the keys that all nodes share into the service's
// folder, where they are missing. A Secret of Kubernetes is readable by a
// group, which a key must not be.
func (c nodeConfig) copySharedKeys() error {
	if c.keys == "" {
		return nil
	}
	for _, name := range []string{access.ClusterKeyFile, access.AuthorityKeyFile} {
		if err := access.CopyKey(filepath.Join(c.keys, name), filepath.Join(c.folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// isClusterNode reports whether the service in a folder is, or was, a node of a
// cluster.
func isClusterNode(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, nodeFolder))
	return err == nil
}

// RunCluster runs one of the commands about the nodes of a cluster.
func RunCluster(ctx context.Context, p setting.Program) error {
	return setting.Commands{
		{Name: "init", Summary: "begin a cluster on its first node, before you start that node", Run: initCluster},
		{Name: "status", Summary: "list the nodes of the cluster, and which one leads", Run: printClusterStatus},
		{Name: "remove", Summary: "remove a node that will not come back with its data: remove HOST:PORT", Run: removeNode},
		{Name: "recover", Summary: "let the last node continue alone, after the others are lost for good", Run: recoverNode},
	}.Run(ctx, p)
}

const aboutInit = `Makes the keys that the nodes of a cluster share. The node in this folder begins the
cluster when you start it with capi-bridge ledger serve --node. Run it once, on one node.`

// initCluster runs the command cluster init.
func initCluster(_ context.Context, p setting.Program) error {
	var folder string
	s := setting.New(p, aboutInit)
	addFolder(s, &folder)
	if err := s.Read(); err != nil {
		return err
	}
	if err := prepareNewCluster(filepath.Join(folder, nodeFolder)); err != nil {
		return err
	}
	now := time.Now()
	_, clients := access.OpenAuthority(folder, now)
	_, nodes := access.OpenClusterAuthority(folder, now)
	if err := errors.Join(clients, nodes); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Stdout, "The cluster begins when this node is started.\nCopy these files to the folders of the other nodes, mode 0600, and keep a copy:\n%s\n%s\n",
		filepath.Join(folder, access.ClusterKeyFile), filepath.Join(folder, access.AuthorityKeyFile))
	return err
}

// connectFromArgs reads the settings of a command, and connects to the cluster
// of the node in a folder.
func connectFromArgs(p setting.Program, about string, args []string) (clusterAccess, error) {
	var folder string
	s := setting.New(p, about)
	addFolder(s, &folder)
	if err := s.ReadArgs(args); err != nil {
		return nil, err
	}
	return connectCluster(nodeConfig{folder: folder})
}

// printClusterStatus runs the command cluster status.
func printClusterStatus(ctx context.Context, p setting.Program) error {
	c, err := connectFromArgs(p, "Lists the nodes of the cluster. Run it on any of them, as the service's user.", p.Args)
	if err != nil {
		return err
	}
	all, err := c.listMembers(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tVOTES\tLEADS")
	for _, m := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", m.address, yesNo(m.votes), yesNo(m.leads))
	}
	return table.Flush()
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// removeNode runs the command cluster remove.
func removeNode(ctx context.Context, p setting.Program) error {
	names, rest := splitLeadingNames(p.Args)
	c, err := connectFromArgs(p, "Removes a node from the cluster. If you start it with an empty folder, it joins again.", rest)
	if err != nil {
		return err
	}
	address, err := requireOneName(names, "node", p.Name+" HOST:PORT, as ledger cluster status lists it")
	if err != nil {
		return err
	}
	if err := c.Remove(ctx, address); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s is no longer a member\n", address)
	return err
}

const aboutRecover = `Lets a node continue alone after the other nodes are lost for good. Stop all nodes first.
Run it without --confirm on each node that is left: it prints how far the node's copy goes.
Then run it with --confirm on the node whose copy goes furthest. Move the folders "node" of
all other nodes away, start this node, and then start the others: they join it.`

// recoverNode runs the command cluster recover.
func recoverNode(_ context.Context, p setting.Program) (err error) {
	var c nodeConfig
	var confirm bool
	s := setting.New(p, aboutRecover)
	addFolder(s, &c.folder)
	s.AddSwitch(&confirm, "confirm", "", "forget the other nodes")
	if err := s.Read(); err != nil {
		return err
	}
	if !isClusterNode(c.folder) {
		return &engine.Refusal{Message: fmt.Sprintf("there is no node of a cluster in %s", c.folder), Hint: "Name the folder of one by --dir.", Err: engine.ErrNotFound}
	}
	lock, err := lockFile(c.dataFolder())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	last, err := recoverCluster(c.dataFolder(), confirm)
	if err != nil {
		return err
	}
	did := "Nothing was changed."
	if confirm {
		did = "This node is the only member now."
	}
	_, err = fmt.Fprintf(p.Stdout, "The copy in %s ends with %s. %s\n", c.dataFolder(), last, did)
	return err
}
