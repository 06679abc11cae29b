package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestClockChangeClosesGate: a node whose clock was set serves nothing until it is compared again.
func TestClockChangeClosesGate(t *testing.T) {
	t.Parallel()
	var g gate
	if err := g.checkOpen(); err != nil {
		t.Errorf("a service on a file has no gate: %v", err)
	}
	g.setClosed(nil)
	if err := g.checkOpen(); err != nil {
		t.Errorf("it is open: %v", err)
	}
	g.comparedAt = g.comparedAt.Add(-time.Hour) // as if the clock were set forward by an hour since
	if err := g.checkOpen(); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "the clock of this node was set") {
		t.Errorf("got %v", err)
	}
	g.setClosed(errStarting)
	if err := g.checkOpen(); !errors.Is(err, errStarting) {
		t.Errorf("got %v", err)
	}
}

// TestNodeSettings: invalid settings of a node are refused before anything is made.
func TestNodeSettings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		args   []string
		says   string
	}{
		"PeerAlone": {"It is no node itself.", []string{"--peer", "b.example:7444"}, "--node: it is missing"},
		"NoPort":    {"Other nodes could not reach it.", []string{"--node", "a.example"}, `"a.example" is not HOST:PORT`},
		"NoHost":    {"Nor by this.", []string{"--node", ":7444"}, `":7444" is not HOST:PORT`},
		"File":      {"There would be two ledgers.", []string{"--node", "a.example:7444", "--file", "x.db"}, "--file: a cluster keeps its ledger on the nodes"},
	} {
		wantServeRefused(t, name+": "+tc.reason, tc.says, tc.args...)
	}
}

// wantServeRefused runs serve with these settings, and wants its error to say something.
func wantServeRefused(t *testing.T, reason, says string, args ...string) {
	t.Helper()
	var out, log output
	err := runCommand(t.Context(), t.TempDir(), &out, &log, append([]string{"serve", "--listen", "127.0.0.1:0", "--health-addr", "127.0.0.1:0"}, args...)...)
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s\ngot %v, want %q", reason, err, says)
	}
}
