package ledgercluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// The ports of each node at its own address.
const (
	clientPort = 7443
	nodePort   = 7444
	healthPort = 9441
)

// waitTimeout is how long a test waits for something that must happen, on a
// busy machine.
const waitTimeout = 90 * time.Second

// clusterCount numbers the clusters, because each has a network of its own.
var clusterCount atomic.Int64

// cluster is three nodes and their clients.
type cluster struct {
	t      testing.TB
	number int64
	folder string
	nodes  [3]*node
	config remote.Config // of a client that may write to all regions
}

// node is a process with an address, a network namespace and a folder.
type node struct {
	cluster *cluster
	name    string // of its network namespace
	address string
	folder  string
	log     string // path of the log file
	program string

	mu      sync.Mutex
	process *exec.Cmd
}

// newCluster starts three nodes. The first one creates the cluster.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	return newClusterWithDisks(t, 0)
}

// newClusterWithDisks gives each node a disk of its own with that many MiB; 0
// means no limit.
func newClusterWithDisks(t testing.TB, diskMiB int) *cluster {
	t.Helper()
	if why := missingPrerequisite(); why != "" {
		t.Skip(why)
	}
	c := &cluster{t: t, number: clusterCount.Add(1), folder: t.TempDir()}
	c.createBridge()
	for i := range c.nodes {
		c.nodes[i] = c.newNode(i)
		if diskMiB > 0 {
			runCommand(t, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=700", diskMiB), "tmpfs", c.nodes[i].folder)
			t.Cleanup(func() { runCommand(t, "umount", "--lazy", c.nodes[i].folder) })
		}
	}
	first := c.nodes[0]
	first.runLedger("cluster", "init")
	for _, other := range c.nodes[1:] {
		c.copyKeys(other)
	}
	for _, n := range c.nodes {
		n.startProcess()
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			n.kill()
		}
	})
	for _, n := range c.nodes {
		n.wantReady()
	}
	c.config = c.addClient("all", "*")
	return c
}

// createBridge makes a bridge that connects the nodes and this process.
func (c *cluster) createBridge() {
	if c.number == 1 {
		runCommand(c.t, "mount", "--make-rprivate", "/")
		if err := os.MkdirAll("/run/netns", 0o755); err != nil {
			c.t.Fatal(err)
		}
		runCommand(c.t, "mount", "-t", "tmpfs", "tmpfs", "/run/netns")
		runCommand(c.t, "ip", "link", "set", "lo", "up")
	}
	bridge := fmt.Sprint("br", c.number)
	runCommand(c.t, "ip", "link", "add", bridge, "type", "bridge")
	runCommand(c.t, "ip", "addr", "add", fmt.Sprintf("10.98.%d.254/24", c.number), "dev", bridge)
	runCommand(c.t, "ip", "link", "set", bridge, "up")
}

// newNode gives a node its network and its folder.
func (c *cluster) newNode(i int) *node {
	n := &node{
		cluster: c, name: fmt.Sprintf("n%d-%d", c.number, i), address: fmt.Sprintf("10.98.%d.%d", c.number, i+1),
		folder: filepath.Join(c.folder, fmt.Sprint("node", i)), program: program,
	}
	n.log = n.folder + ".log"
	if err := os.Mkdir(n.folder, 0o700); err != nil {
		c.t.Fatal(err)
	}
	link := fmt.Sprintf("v%d-%d", c.number, i)
	runCommand(c.t, "ip", "netns", "add", n.name)
	runCommand(c.t, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", n.name)
	runCommand(c.t, "ip", "link", "set", link, "master", fmt.Sprint("br", c.number), "up")
	runCommand(c.t, "ip", "-n", n.name, "addr", "add", n.address+"/24", "dev", "eth0")
	runCommand(c.t, "ip", "-n", n.name, "link", "set", "eth0", "up")
	runCommand(c.t, "ip", "-n", n.name, "link", "set", "lo", "up")
	return n
}

// copyKeys copies to a node the keys that all nodes share.
func (c *cluster) copyKeys(to *node) {
	c.t.Helper()
	for _, name := range []string{"ca-key.pem", "cluster-key.pem"} {
		text, err := os.ReadFile(filepath.Join(c.nodes[0].folder, name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(to.folder, name), text, 0o600)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// addClient adds a client, whose configuration names all nodes.
func (c *cluster) addClient(name, prefix string) remote.Config {
	c.t.Helper()
	keys := filepath.Join(c.folder, "keys-"+name)
	c.nodes[1].runLedger("client", "add", name, "--region", "*", "--prefix", prefix, "--out", keys)
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(keys, file))
		if err != nil {
			c.t.Fatal(err)
		}
		return string(text)
	}
	var addresses []string
	for _, n := range c.nodes {
		addresses = append(addresses, n.clientURL())
	}
	return remote.Config{Address: strings.Join(addresses, ","), CA: read("ca.pem"), Certificate: read(name + ".crt"), Key: read(name + ".key"), Version: "test"}
}

// openLedger connects a new client.
func (c *cluster) openLedger(int) engine.Ledger {
	c.t.Helper()
	client, err := remote.New(c.config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { client.Close() })
	return client.Region("maas")
}

// leader waits for the node that leads.
func (c *cluster) leader() *node {
	c.t.Helper()
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, n := range c.nodes {
			if _, text := n.getDiagnostics("/metrics"); strings.Contains(text, "\nmaaslxd_ledger_leader 1\n") {
				return n
			}
		}
	}
	c.t.Fatal("no node leads")
	return nil
}

// ledgerCommand is a command of the program in the node's network.
func (n *node) ledgerCommand(args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.name, n.program, "ledger"}, args...)...)
}

// runLedger runs a command on the node, which must succeed.
func (n *node) runLedger(args ...string) string {
	n.cluster.t.Helper()
	out, err := n.tryLedger(args...)
	if err != nil {
		n.cluster.t.Fatalf("ledger %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (n *node) tryLedger(args ...string) (string, error) {
	out, err := n.ledgerCommand(append(args, "--dir", n.folder)...).CombinedOutput()
	return string(out), err
}

// startProcess starts the node's process.
func (n *node) startProcess() {
	n.mu.Lock()
	defer n.mu.Unlock()
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		n.cluster.t.Error(err)
		return
	}
	defer log.Close()
	args := []string{
		"serve", "--dir", n.folder, "--listen", fmt.Sprintf("%s:%d", n.address, clientPort), "--health-addr", fmt.Sprintf("%s:%d", n.address, healthPort),
		"--name", n.address, "--node", n.memberAddress(), "--grace", "5s",
	}
	for _, other := range n.cluster.nodes {
		if other != nil && other != n {
			args = append(args, "--peer", other.memberAddress())
		}
	}
	n.process = n.ledgerCommand(args...)
	n.process.Stdout, n.process.Stderr = log, log
	n.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.process.Start(); err != nil {
		n.cluster.t.Error(err)
	}
}

// memberAddress is the node's address for other nodes.
func (n *node) memberAddress() string { return fmt.Sprintf("%s:%d", n.address, nodePort) }

// sendSignal sends a signal to the node's process, if it runs.
func (n *node) sendSignal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		_ = n.process.Process.Signal(s) // the process may have ended by itself
	}
}

// signalAndWait signals the process, and waits until it has ended.
func (n *node) signalAndWait(s syscall.Signal) {
	n.sendSignal(s)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		_ = n.process.Wait() // the signal decides how it ended
		n.process = nil
	}
}

func (n *node) kill() { n.signalAndWait(syscall.SIGKILL) }

// cutOff separates the node from the other nodes, in both directions. Clients
// still reach it.
func (n *node) cutOff() {
	rules := fmt.Sprintf(`table inet cut {
	chain in { type filter hook input priority 0; tcp dport %[1]d drop; tcp sport %[1]d drop; }
	chain out { type filter hook output priority 0; tcp dport %[1]d drop; tcp sport %[1]d drop; }
}`, nodePort)
	n.runNFT(rules)
}

// isolate separates the node from everyone.
func (n *node) isolate() {
	n.runNFT(`table inet cut {
	chain in { type filter hook input priority 0; policy drop; }
	chain out { type filter hook output priority 0; policy drop; }
}`)
}

// rejoin ends the separation.
func (n *node) rejoin() { n.runNFT("delete table inet cut") }

func (n *node) runNFT(rules string) {
	cmd := exec.Command("ip", "netns", "exec", n.name, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		n.cluster.t.Errorf("nft: %v\n%s", err, out)
	}
}

// getDiagnostics gets a page of the node's diagnostics. The status is 0 where
// the node does not answer.
func (n *node) getDiagnostics(path string) (status int, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d%s", n.address, healthPort, path), nil)
	if err != nil {
		return 0, err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

// clientURL is the node's URL for clients.
func (n *node) clientURL() string { return fmt.Sprintf("https://%s:%d", n.address, clientPort) }

// wantReady waits until the node serves.
func (n *node) wantReady() {
	n.cluster.t.Helper()
	said := ""
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		status, text := n.getDiagnostics("/readyz")
		if status == http.StatusOK {
			return
		}
		said = text
	}
	log, _ := os.ReadFile(n.log)
	n.cluster.t.Fatalf("%s does not serve: %s\n%s", n.name, said, lastBytes(log))
}

// wantLogMatch waits until the node's log matches a pattern.
func (n *node) wantLogMatch(pattern string) {
	n.cluster.t.Helper()
	wanted := regexp.MustCompile(pattern)
	var log []byte
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if log, _ = os.ReadFile(n.log); wanted.Match(log) {
			return
		}
	}
	n.cluster.t.Errorf("the log of %s does not say %q:\n%s", n.name, pattern, lastBytes(log))
}

func lastBytes(text []byte) string {
	const most = 4000
	return string(text[max(0, len(text)-most):])
}
