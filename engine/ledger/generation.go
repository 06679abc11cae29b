package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// generationRetention is how long the ledger remembers a generation after its
// end. It is longer than an inventory can take: the longest request_timeout is
// 15 minutes.
const generationRetention = time.Hour

// beginGeneration begins a generation, and returns its number.
//
// An opened ledger may be a copy that is older than existing inventories. The
// copy cannot show that: its sequence catches up with theirs. So an opening
// trusts no inventory from before it. For example, a copy is made at sequence
// 8, web-1 is bound at 9, and the copy is put back. An inventory of sequence 7
// shows no web-1, and neither does the copy: both would give away its room.
//
// A process that has the ledger open keeps its trust when others open it. It
// relies on all generations since its own opening. The ledger records where
// each of them ended.
func beginGeneration(ctx context.Context, conn *sql.Conn, now time.Time) (number int64, err error) {
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{`INSERT INTO generations (name, number, ended, ended_ms) SELECT generation, number, sequence, ?1 FROM tag`, []any{now.UnixMilli()}},
		{`UPDATE tag SET generation = lower(hex(randomblob(8))), number = number + 1`, nil},
		// A generation that is dated ahead came from a wrong clock, and would
		// stay for ever.
		{`DELETE FROM generations WHERE abs(ended_ms - ?1) > ?2`, []any{now.UnixMilli(), generationRetention.Milliseconds()}},
	} {
		if _, err := conn.ExecContext(ctx, step.statement, step.args...); err != nil {
			return 0, err
		}
	}
	err = conn.QueryRowContext(ctx, `SELECT number FROM tag`).Scan(&number)
	return number, err
}

// newestServingSQL is the last sequence of the inventories of generation ?3
// that this handle of the ledger trusts, or -1. ?5 is the number of the
// generation that began when the handle was opened.
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

// compareInventory reports whether an inventory may be used, and whether it is
// older than the floor.
func (s *store) compareInventory(ctx context.Context, now func() time.Time, inventory engine.Tag) (serves, belowFloor bool, err error) {
	err = s.readTagAndReopenHosts(ctx, now, `SELECT ?4 BETWEEN floor AND (`+newestServingSQL+`) AS serves, ?4 < floor`, []any{inventory.Generation, inventory.Sequence, s.openedGeneration}, &serves, &belowFloor)
	if err != nil {
		return false, false, fmt.Errorf("cannot read whether the ledger accepts an inventory: %w", err)
	}
	return serves, belowFloor, nil
}

// readTagAndReopenHosts reads columns of the tag. If a close of a host is over,
// it first opens the host, which raises the floor. The query's own parameters
// begin with ?3.
func (s *store) readTagAndReopenHosts(ctx context.Context, now func() time.Time, query string, args []any, into ...any) error {
	var over bool // a close of a host is over, or dated ahead
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
