//go:build dqlite

package ledger

import (
	"context"
	"net"
	"strings"
	"testing"
)

// TestNodeKeys: a node without the keys of its cluster is refused before anything is made.
func TestNodeKeys(t *testing.T) {
	t.Parallel()
	wantServeRefused(t, "What is named must be there.", "/nowhere/cluster-key.pem", "--node", "a.example:7444", "--keys", "/nowhere")
	wantServeRefused(t, "It could prove nothing to others.", "there is no cluster-key.pem in", "--node", "a.example:7444")
}

// TestStoppedWhileWaiting: a node that is stopped while it waits for its cluster has no error.
func TestStoppedWhileWaiting(t *testing.T) {
	t.Parallel()
	folder, ctx := t.TempDir(), t.Context()
	var out, log output
	if err := runCommand(ctx, folder, &out, &log, "cluster", "init"); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	err := runCommand(stopped, folder, &out, &log, "serve", "--listen", "127.0.0.1:0", "--health-addr", "", "--node", refusingAddress(t), "--name", "127.0.0.1")
	if err != nil || !strings.Contains(log.String(), "stopped while it waited for the cluster") {
		t.Errorf("got %v\n%s", err, log.String())
	}
}

// refusingAddress is an address that refuses connections.
func refusingAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
