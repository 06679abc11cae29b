package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Rows are dated by the clock of the node that writes them. If a node's clock
// is an hour behind, it takes a compose that has just begun for one that is
// long over. So nodes compare their clocks. A node that differs from most
// others writes nothing.

// ClockTolerance is how much a node's clock may differ from the others.
const ClockTolerance = 5 * time.Second

// clockReadingTTL is how long a comparison counts. Nodes compare far more
// often.
const clockReadingTTL = 30 * time.Second

// leaderNowSQL reads the leader's time, in milliseconds.
const leaderNowSQL = `CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)`

// CompareClocks records how far this node's clock is ahead of the leader's. It
// returns how far it is from the median of all nodes. certain is false where two
// nodes differ and no third one decides which clock is right.
func CompareClocks(ctx context.Context, l *Ledger, node string) (ahead time.Duration, certain bool, err error) {
	began := time.Now()
	var text string
	var own int64
	err = l.store.runTransaction(ctx, func(ctx context.Context, tx transaction) error {
		err := tx.exec(ctx, `
INSERT INTO node_clocks (node, ahead_ms, at_ms) VALUES (?1, ?2 - `+leaderNowSQL+`, `+leaderNowSQL+`)
ON CONFLICT (node) DO UPDATE SET ahead_ms = excluded.ahead_ms, at_ms = excluded.at_ms`, node, l.now().UnixMilli())
		if err == nil {
			err = tx.queryRow(ctx, `
SELECT (SELECT json_group_array(ahead_ms) FROM node_clocks WHERE node <> ?1 AND abs(at_ms - `+leaderNowSQL+`) < ?2) AS found,
  (SELECT ahead_ms FROM node_clocks WHERE node = ?1)`, []any{node, clockReadingTTL.Milliseconds()}, &text, &own)
		}
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("cannot compare the clock with the leader's: %w", err)
	}
	took := time.Since(began)
	var others []int64
	if err := decodeJSON(text, &others); err != nil {
		return 0, false, fmt.Errorf("cannot read the clocks of the nodes: %w", err)
	}
	if took > ClockTolerance/2 { // a long wait for the leader looks like a clock that is behind
		return 0, false, fmt.Errorf("the leader took %s to compare clocks: %w", took.Round(time.Millisecond), engine.ErrUnavailable)
	}
	difference, certain := clockDifference(own, others)
	return time.Duration(difference) * time.Millisecond, certain, nil
}

// clockDifference compares a clock with the median of all. If two clocks differ, neither is
// certain.
func clockDifference(own int64, others []int64) (difference int64, certain bool) {
	all := append(slices.Clone(others), own)
	slices.Sort(all)
	difference = own - all[(len(all)-1)/2]
	if len(all)%2 == 0 {
		low, high := all[len(all)/2-1], all[len(all)/2]
		if high-low > ClockTolerance.Milliseconds() {
			return max(own-low, high-own), false
		}
	}
	return difference, true
}

// CheckSchema returns an *engine.Refusal if a newer program has migrated the schema since this
// one opened the ledger.
func CheckSchema(ctx context.Context, l *Ledger) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	var has int
	if err := l.store.queryRow(ctx, `SELECT coalesce(max(version), 0) AS found FROM schema_version`, nil, &has); err != nil {
		return fmt.Errorf("cannot read the version of the ledger's schema: %w", err)
	}
	if has > len(files) {
		return NewerSchemaError(&schemaVersionError{has, len(files)}, "the cluster's database")
	}
	return nil
}
