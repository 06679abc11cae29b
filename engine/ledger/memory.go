// Package ledger keeps reservations: what was decided for a key, until MAAS
// shows it.
package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Memory is a ledger for one process. It is lost with it, which costs nothing
// at rest: VMs carry markers by which the next process finds them.
type Memory struct {
	now func() time.Time

	mu   sync.Mutex
	rows map[engine.Key]engine.Row
}

var _ engine.Ledger = (*Memory)(nil)

// NewMemory returns an empty ledger. now is the clock; nil means time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{now: now, rows: map[engine.Key]engine.Row{}}
}

// Row implements engine.Ledger.
func (l *Memory) Row(_ context.Context, key engine.Key) (engine.Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	row, ok := l.rows[key]
	if !ok {
		return engine.Row{}, fmt.Errorf("no ledger row for %s: %w", key, engine.ErrNotFound)
	}
	return row, nil
}

// Place implements engine.Ledger.
func (l *Memory) Place(_ context.Context, key engine.Key, name string, hostID int) (engine.Row, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if row, ok := l.rows[key]; ok {
		return row, false, nil
	}
	row := engine.Row{
		Key: key, Name: name, HostID: hostID, Attempt: 1,
		State: engine.RowPending, Since: l.now(),
	}
	l.rows[key] = row
	return row, true, nil
}

// Move implements engine.Ledger.
func (l *Memory) Move(_ context.Context, key engine.Key, attempt, hostID int) (engine.Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	row, ok := l.rows[key]
	if !ok {
		return engine.Row{}, fmt.Errorf("cannot move %s: %w", key, engine.ErrNotFound)
	}
	if row.Attempt < attempt {
		row = engine.Row{
			Key: key, Name: row.Name, HostID: hostID, Attempt: attempt,
			State: engine.RowPending, Since: l.now(),
		}
		l.rows[key] = row
	}
	return row, nil
}

// Bind implements engine.Ledger.
func (l *Memory) Bind(_ context.Context, key engine.Key, name string, hostID int, systemID string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	row, ok := l.rows[key]
	if !ok {
		row = engine.Row{Key: key, Name: name, HostID: hostID, Attempt: 1, Since: l.now()}
	}
	row.State, row.SystemID = engine.RowBound, systemID
	l.rows[key] = row
	return nil
}

// Leaving implements engine.Ledger.
func (l *Memory) Leaving(_ context.Context, key engine.Key) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if row, ok := l.rows[key]; ok {
		row.State = engine.RowLeaving
		l.rows[key] = row
	}
	return nil
}

// Forget implements engine.Ledger.
func (l *Memory) Forget(_ context.Context, key engine.Key) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rows, key)
	return nil
}

// Pending implements engine.Ledger.
func (l *Memory) Pending(context.Context) ([]engine.Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pending := slices.Collect(maps.Values(l.rows))
	pending = slices.DeleteFunc(pending, func(r engine.Row) bool { return r.SystemID != "" })
	slices.SortFunc(pending, func(a, b engine.Row) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return pending, nil
}
