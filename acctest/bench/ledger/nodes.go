package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// node is a process of the ledger service.
type node struct {
	bin, dir, health, listen string
	args                     []string
	process                  *kubetest.Process
}

// service is a ledger service with one node or several.
type service struct {
	nodes []*node
	keys  remote.Config // the client's keys, without an address
}

// newFileService describes a service whose ledger is a SQLite file.
func newFileService(bin, dir string) (*service, error) {
	ports, err := freeport.Ports(2)
	if err != nil {
		return nil, err
	}
	return &service{nodes: []*node{newNode(bin, dir, ports)}}, nil
}

// newCluster describes a service on that many dqlite nodes, and creates the
// cluster in the first node's folder.
func newCluster(ctx context.Context, bin, dir string, count int) (*service, error) {
	ports, err := freeport.Ports(3 * count)
	if err != nil {
		return nil, err
	}
	s := &service{}
	for i := range count {
		n := newNode(bin, filepath.Join(dir, fmt.Sprint("node-", i)), ports[3*i:])
		n.args = append(n.args, "--node", loopbackAddress(ports[3*i+2]))
		for j := range count {
			if j != i {
				n.args = append(n.args, "--peer", loopbackAddress(ports[3*j+2]))
			}
		}
		s.nodes = append(s.nodes, n)
	}
	if err := s.nodes[0].runLedgerCommand(ctx, "cluster", "init"); err != nil {
		return nil, err
	}
	keys, err := filepath.Glob(filepath.Join(s.nodes[0].dir, "*-key.pem"))
	if err != nil {
		return nil, err
	}
	for _, n := range s.nodes[1:] {
		if err := copyFiles(n.dir, keys); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newNode(bin, dir string, ports []int) *node {
	n := &node{bin: bin, dir: dir, listen: loopbackAddress(ports[0]), health: loopbackAddress(ports[1])}
	n.args = []string{"ledger", "serve", "--dir", dir, "--listen", n.listen, "--health-addr", n.health, "--name", loopback}
	return n
}

const loopback = "127.0.0.1"

func loopbackAddress(port int) string { return fmt.Sprintf("%s:%d", loopback, port) }

// copyFiles copies the keys that all nodes of a cluster share into a node's
// folder.
func copyFiles(dir string, paths []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// runLedgerCommand runs a command of the ledger in the node's folder.
func (n *node) runLedgerCommand(ctx context.Context, args ...string) error {
	args = slices.Concat([]string{"ledger"}, args, []string{"--dir", n.dir})
	out, err := exec.CommandContext(ctx, n.bin, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(n.bin), strings.Join(args, " "), err, out)
	}
	return nil
}

// start starts the node's process, and waits until it serves.
func (n *node) start(ctx context.Context) error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	var err error
	if n.process, err = kubetest.StartProcess(n.dir, "serve", exec.Command(n.bin, n.args...)); err != nil {
		return err
	}
	return n.process.AwaitReady(ctx, func(ctx context.Context) error {
		_, err := getPage(ctx, "http://"+n.health+"/readyz")
		return err
	})
}

// isLeader reports whether the node leads its cluster.
func (n *node) isLeader(ctx context.Context) (bool, error) {
	text, err := getPage(ctx, "http://"+n.health+"/metrics")
	return strings.Contains(text, "\nmaaslxd_ledger_leader 1\n"), err
}

// start starts all nodes, and registers a client that may write to all regions.
func (s *service) start(ctx context.Context, keys string) error {
	for _, n := range s.nodes {
		if err := n.start(ctx); err != nil {
			return err
		}
	}
	err := s.nodes[0].runLedgerCommand(ctx, "client", "add", "bench", "--region", "*", "--prefix", "*", "--out", keys)
	if err != nil {
		return err
	}
	for name, into := range map[string]*string{"ca.pem": &s.keys.CA, "bench.crt": &s.keys.Certificate, "bench.key": &s.keys.Key} {
		text, err := os.ReadFile(filepath.Join(keys, name))
		if err != nil {
			return err
		}
		*into = string(text)
	}
	return nil
}

// stop ends all nodes that run.
func (s *service) stop() {
	for _, n := range s.nodes {
		if n.process != nil {
			n.process.Stop()
		}
	}
}

// leader is the index of the node that leads the cluster.
func (s *service) leader(ctx context.Context) (int, error) {
	for i, n := range s.nodes {
		if leads, err := n.isLeader(ctx); err != nil || leads {
			return i, err
		}
	}
	return 0, fmt.Errorf("none of %d nodes leads the cluster", len(s.nodes))
}

// getPage reads a page, and returns an error unless the status is 200.
func getPage(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, response.Status, text)
	}
	return string(text), err
}
