package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// CutOff lists the keys that begin so and whose makers died before they gave their
// leases back: what they made is in no state, unless a run that took it up died as
// well. Of a maker that cannot be seen from here, its heartbeat tells.
func (l *Ledger) CutOff(ctx context.Context, prefix string) ([]engine.Key, error) {
	var text string
	err := l.store.row(ctx, `SELECT json_group_array(key) FROM (SELECT key FROM leases WHERE region = ?1 ORDER BY key)`, []any{l.region}, &text)
	if err != nil {
		return nil, fmt.Errorf("cannot list the leases: %w", err)
	}
	var all, left []engine.Key
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("cannot read the leases: %w", err)
	}
	for _, key := range all {
		if !strings.HasPrefix(string(key), prefix) {
			continue
		}
		if _, dead := l.leftBy(ctx, key); dead {
			left = append(left, key)
		}
	}
	return left, nil
}

// leftBy is the holder of a lease, and whether it is dead.
func (l *Ledger) leftBy(ctx context.Context, key engine.Key) (holder string, dead bool) {
	have, err := l.lease(ctx, key)
	if err != nil {
		return "", false
	}
	lives, seen := have.process.lives()
	return have.holder, seen && !lives || !seen && l.now().Sub(time.UnixMilli(have.beatMS)) > leaseTerm
}

// Named notes that a state names what was made by a key: it is no longer cut off.
// The lease of a maker that lives stays.
func (l *Ledger) Named(ctx context.Context, key engine.Key) error {
	holder, dead := l.leftBy(ctx, key)
	if !dead {
		return nil
	}
	return l.store.exec(ctx, `DELETE FROM leases WHERE region = ?1 AND key = ?2 AND holder = ?3`, l.region, key, holder)
}
