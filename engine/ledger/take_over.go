package ledger

import (
	"context"
	"fmt"
)

// TakeOverRegion moves the rows of another region into this one: a MAAS was
// known by its address before it had a mark. A key that both regions have stays
// where it is. Repeating it is safe.
func (l *Ledger) TakeOverRegion(ctx context.Context, from string) error {
	for _, table := range []string{"reservations", "closed_hosts", "leases"} {
		err := l.store.exec(ctx, `UPDATE OR IGNORE `+table+` SET region = ?1 WHERE region = ?2`, l.region, from)
		if err != nil {
			return fmt.Errorf("cannot take over the %s of %s: %w", table, from, err)
		}
	}
	return nil
}

// TakeOverKeys is TakeOverRegion for the keys with a prefix. Closed hosts stay,
// because they belong to no owner.
func (l *Ledger) TakeOverKeys(ctx context.Context, from, prefix string) error {
	for _, table := range []string{"reservations", "leases"} {
		err := l.store.exec(ctx, `
UPDATE OR IGNORE `+table+` SET region = ?1 WHERE region = ?2 AND substr(key, 1, length(?3)) = ?3`, l.region, from, prefix)
		if err != nil {
			return fmt.Errorf("cannot take over the %s of %s: %w", table, from, err)
		}
	}
	return nil
}
