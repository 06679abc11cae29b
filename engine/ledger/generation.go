package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// generationRetention is how long the ledger knows a generation that is over. It is longer
// than an inventory can be under way: the longest request_timeout is 15 minutes.
const generationRetention = time.Hour

// beginGeneration begins a generation, and returns its number.
//
// Who opens a ledger may find a copy that is older than the inventories which are about.
// Nothing in the copy tells: its sequence catches up with theirs. So an opening trusts no
// inventory from before it. For example, a copy is made at sequence 8, web-1 is bound at 9,
// and the copy is put back. An inventory of sequence 7 shows no web-1, and neither does the
// copy: both would give its room away.
//
// A process that has the ledger open keeps its trust when others open it. It relies on the
// generations since its own opening, of which the ledger notes where each one ended.
func beginGeneration(ctx context.Context, conn *sql.Conn, now time.Time) (number int64, err error) {
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{`INSERT INTO generations (name, number, ended, ended_ms) SELECT generation, number, sequence, ?1 FROM tag`, []any{now.UnixMilli()}},
		{`UPDATE tag SET generation = lower(hex(randomblob(8))), number = number + 1`, nil},
		// What is dated ahead was dated by a wrong clock, and would never go.
		{`DELETE FROM generations WHERE abs(ended_ms - ?1) > ?2`, []any{now.UnixMilli(), generationRetention.Milliseconds()}},
	} {
		if _, err := conn.ExecContext(ctx, step.statement, step.args...); err != nil {
			return 0, err
		}
	}
	err = conn.QueryRowContext(ctx, `SELECT number FROM tag`).Scan(&number)
	return number, err
}

// newestServingSQL is the last sequence of inventories of the generation ?3 that this handle on the
// ledger relies on, or -1. ?5 is the number of the generation that began with its opening.
const newestServingSQL = `
  CASE generation WHEN ?3 THEN sequence
  ELSE coalesce((SELECT min(ended, sequence) FROM generations WHERE name = ?3 AND number >= ?5), -1) END`

// AcceptsInventory implements engine.Ledger.
func (l *Ledger) AcceptsInventory(ctx context.Context, inventory engine.Tag) (bool, error) {
	serves, _, err := l.store.compareInventory(ctx, l.now, inventory)
	return serves, err
}

// CurrentTag implements engine.Ledger.
func (l *Ledger) CurrentTag(ctx context.Context) (tag engine.Tag, err error) {
	if err := l.store.readTagAndReopenHosts(ctx, l.now, `SELECT generation, sequence`, nil, &tag.Generation, &tag.Sequence); err != nil {
		return engine.Tag{}, fmt.Errorf("cannot read the ledger's tag: %w", err)
	}
	return tag, nil
}

// compareInventory tells whether an inventory serves, and whether it is from before the
// floor.
func (s *store) compareInventory(ctx context.Context, now func() time.Time, inventory engine.Tag) (serves, belowFloor bool, err error) {
	err = s.readTagAndReopenHosts(ctx, now, `SELECT ?4 BETWEEN floor AND (`+newestServingSQL+`) AS serves, ?4 < floor`, []any{inventory.Generation, inventory.Sequence, s.openedGeneration}, &serves, &belowFloor)
	if err != nil {
		return false, false, fmt.Errorf("cannot read whether an inventory serves the ledger: %w", err)
	}
	return serves, belowFloor, nil
}

// readTagAndReopenHosts reads columns of the tag. Where a close of a host is over, it opens the host
// first: that raises the floor. The query's own parameters begin with ?3.
func (s *store) readTagAndReopenHosts(ctx context.Context, now func() time.Time, query string, args []any, into ...any) error {
	var over bool // a close of a host, or dated ahead
	read := func() error {
		return s.queryRow(ctx, query+`, EXISTS (SELECT 1 FROM closed_hosts WHERE until_ms <= ?1 OR until_ms > ?2) FROM tag`,
			append([]any{now().UnixMilli(), maxCloseEnd(now())}, args...), append(into, &over)...)
	}
	err := read()
	if err == nil && over {
		if err = s.removeEndedCloses(ctx, now()); err == nil {
			err = read()
		}
	}
	return err
}
