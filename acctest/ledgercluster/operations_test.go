package ledgercluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// placeVM places a VM on a host with plenty of room.
func placeVM(ctx context.Context, l engine.Ledger, key engine.Key) (engine.Row, error) {
	tag, err := l.CurrentTag(ctx)
	if err != nil {
		return engine.Row{}, err
	}
	row, _, err := l.Place(ctx, engine.Reservation{
		Key: key, Name: string(key), Need: engine.Need{Cores: 1, MemoryMiB: 1024}, Inventory: tag,
		Candidates: []engine.Candidate{{HostKey: "h1", Zone: "az1", Free: engine.Need{Cores: 1000, MemoryMiB: 1 << 30}}},
	})
	return row, err
}

// wantPlaced places VMs and binds them.
func (c *cluster) wantPlaced(keys ...engine.Key) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	l := c.openLedger(0)
	for _, key := range keys {
		row, err := placeVM(ctx, l, key)
		if err == nil {
			row.SystemID = "id-" + string(key)
			err = l.Bind(ctx, row)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// wantRows checks that the ledger has exactly these keys.
func (c *cluster) wantRows(keys ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	rows, err := c.openLedger(0).Rows(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		got = append(got, string(row.Key))
	}
	if strings.Join(got, " ") != strings.Join(keys, " ") {
		c.t.Errorf("got the rows %q, want %q", got, keys)
	}
}

// TestNodesWithoutQuorum: two of three nodes are down. A call ends with a clear
// error before its caller's deadline. The ledger works again when one node is
// back.
func TestNodesWithoutQuorum(t *testing.T) {
	c := newCluster(t)
	c.wantPlaced("a/1")
	for _, n := range c.nodes[1:] {
		n.kill()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := placeVM(ctx, c.openLedger(0), "a/2")
	if err == nil || !errors.Is(err, engine.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("placed without a quorum: %v", err)
	}
	t.Logf("the error: %v", err)
	out, err := c.nodes[0].tryLedger("cluster", "status")
	if err == nil || !strings.Contains(out, "no leader that can be reached") {
		t.Errorf("status: %v\n%s", err, out)
	}
	c.nodes[1].startProcess()
	c.nodes[1].wantReady()
	c.wantPlaced("a/3")
	if _, err := placeVM(t.Context(), c.openLedger(0), "a/1"); err != nil {
		t.Errorf("a row from before: %v", err)
	}
}

// TestNodesLostDisk: a node without its data joins only after it was removed.
func TestNodesLostDisk(t *testing.T) {
	c := newCluster(t)
	c.wantPlaced("a/1", "a/2")
	lost := c.nodes[2]
	lost.kill()
	if err := errors.Join(os.RemoveAll(lost.folder), os.Mkdir(lost.folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	c.copyKeys(lost)
	lost.startProcess()
	lost.wantLogMatch("has a member " + lost.memberAddress() + " already")
	lost.kill()
	c.nodes[0].runLedger("cluster", "remove", lost.memberAddress())
	lost.startProcess()
	lost.wantReady()
	for deadline := time.Now().Add(waitTimeout); strings.Count(c.nodes[0].runLedger("cluster", "status"), "yes    ") < 3; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the node has no vote:\n%s", c.nodes[0].runLedger("cluster", "status"))
		}
	}
	// Now another node may fail.
	c.nodes[1].kill()
	c.wantPlaced("a/3")
	c.wantRows("a/1", "a/2", "a/3")
}

// TestNodesRecover: of three nodes one is left, and continues alone. New nodes
// join it.
func TestNodesRecover(t *testing.T) {
	c := newCluster(t)
	c.wantPlaced("a/1", "a/2")
	survivor := c.nodes[1]
	if out, err := survivor.tryLedger("cluster", "recover", "--confirm"); err == nil || !strings.Contains(out, "another service uses the ledger") {
		t.Errorf("recovered while it runs: %v\n%s", err, out)
	}
	for _, n := range c.nodes {
		n.signalAndWait(syscall.SIGTERM)
	}
	if out := survivor.runLedger("cluster", "recover"); !strings.Contains(out, "Nothing was changed") || !strings.Contains(out, "index") {
		t.Errorf("got %s", out)
	}
	survivor.runLedger("cluster", "recover", "--confirm")
	survivor.startProcess()
	survivor.wantReady()
	c.wantRows("a/1", "a/2")
	for _, n := range []*node{c.nodes[0], c.nodes[2]} {
		if err := os.RemoveAll(filepath.Join(n.folder, "node")); err != nil {
			t.Fatal(err)
		}
		n.startProcess()
		n.wantReady()
	}
	c.wantPlaced("a/3")
	c.wantRows("a/1", "a/2", "a/3")
}

// TestNodesBackup: a backup is a file that any ledger can open. A new cluster
// starts from it with the same clients.
func TestNodesBackup(t *testing.T) {
	c := newCluster(t)
	c.wantPlaced("a/1", "a/2")
	file := filepath.Join(c.folder, "backup.db")
	c.nodes[0].runLedger("backup", file)
	if out, err := c.nodes[0].tryLedger("backup", file); err == nil || !strings.Contains(out, "already exists") {
		t.Errorf("a backup took the place of another: %v\n%s", err, out)
	}
	l, err := ledger.OpenFile(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := l.Region("maas").Rows(t.Context())
	if err := errors.Join(err, l.Close()); err != nil || len(rows) != 2 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if out, err := c.nodes[0].tryLedger("restore", file); err == nil || !strings.Contains(out, "not empty") {
		t.Errorf("restored into a ledger that is in use: %v\n%s", err, out)
	}
	next := newCluster(t)
	next.nodes[2].runLedger("client", "revoke", "all")
	next.nodes[0].runLedger("restore", file)
	if out := next.nodes[0].runLedger("client", "list"); strings.Count(out, "valid") != 1 {
		t.Errorf("want the client of the backup:\n%s", out)
	}
	if out := next.nodes[1].runLedger("rows"); !strings.Contains(out, "a/1") || !strings.Contains(out, "a/2") {
		t.Errorf("want the rows of the backup:\n%s", out)
	}
}

// TestNodesMixedUp: a node with the key of another cluster joins neither
// cluster.
func TestNodesMixedUp(t *testing.T) {
	c, others := newCluster(t), newCluster(t)
	stray := c.nodes[2]
	stray.kill()
	if err := errors.Join(os.RemoveAll(stray.folder), os.Mkdir(stray.folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	others.copyKeys(stray)
	stray.startProcess()
	stray.wantLogMatch("certificate signed by unknown authority")
	if status, text := stray.getDiagnostics("/readyz"); status == 200 || !strings.Contains(text, "no cluster yet") {
		t.Errorf("it serves: %d %s", status, text)
	}
	c.wantPlaced("a/1")
}

// revokedWithin is how long nodes may still serve a client that another node
// has revoked. They check each second, and a busy machine needs longer.
const revokedWithin = 15 * time.Second

// TestNodesRevoked: after one node has revoked a client, every node refuses it.
func TestNodesRevoked(t *testing.T) {
	c := newCluster(t)
	c.wantPlaced("a/1")
	c.nodes[2].runLedger("client", "revoke", "all")
	deadline := time.Now().Add(revokedWithin)
	for _, n := range c.nodes {
		config := c.config
		config.Address = n.clientURL()
		client, err := remote.New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for {
			_, err := client.Tag(t.Context())
			if errors.Is(err, engine.ErrForbidden) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s serves it still: %v", n.name, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}
