//go:build dqlite

package dqlite_test

import (
	"errors"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestClockOfANodeIsBehind: a node whose clock is an hour behind finds that out, even if it leads. The other
// nodes are not affected.
func TestClockOfANodeIsBehind(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	clocks := []time.Duration{0, 0, -time.Hour}
	var handles []*ledger.Ledger
	for n, wrong := range clocks {
		l, err := c.nodes[n].Open(c.ctx(), func() time.Time { return time.Now().Add(wrong) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		handles = append(handles, l)
	}
	for range 2 { // the second time all clocks are known
		for n, l := range handles {
			ahead, certain, err := ledger.CompareClocks(c.ctx(), l, c.configs[n].Address)
			for tries := 1; errors.Is(err, engine.ErrUnavailable) && tries < 20; tries++ { // an answer was too slow for a comparison
				ahead, certain, err = ledger.CompareClocks(c.ctx(), l, c.configs[n].Address)
			}
			if err != nil {
				t.Fatal(err)
			}
			if known := n == 2; known && (!certain || (ahead-clocks[n]).Abs() > ledger.ClockTolerance) {
				t.Errorf("node %d: ahead by %s, %t, want %s", n, ahead, certain, clocks[n])
			} else if !known && certain && ahead.Abs() > ledger.ClockTolerance {
				t.Errorf("node %d: ahead by %s", n, ahead)
			}
		}
	}
}

// TestNewerSchema: a running node notices that a newer one has migrated the schema. An older
// program cannot open the ledger.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	l := c.open(0)
	if err := ledger.CheckSchema(c.ctx(), l); err != nil {
		t.Fatal(err)
	}
	if err := c.nodes[0].Exec(c.ctx(), `INSERT INTO schema_version (version) VALUES (99)`); err != nil {
		t.Fatal(err)
	}
	if err := ledger.CheckSchema(c.ctx(), l); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("it goes on: %v", err)
	}
	if _, err := c.nodes[0].Open(c.ctx(), time.Now); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("it opens: %v", err)
	}
}
