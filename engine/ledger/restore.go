package ledger

import (
	"cmp"
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

const restoreSQL = `
INSERT INTO reservations (region, key, name, host_key, zone, peer_group, cores, memory_mib, huge_pages_mib, disks,
  attempt, excluded, state, system_id, since_ms, token, shown_from)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?15, ?9, ?10, ?11, ?16, ?12, ?13, ?14,
  CASE ?16 WHEN 'bound' THEN (SELECT sequence + 1 FROM tag) ELSE ?17 END)
ON CONFLICT (region, key) DO NOTHING`

// RestoreRow adds a row that was recorded elsewhere, for a ledger that ends
// with its process. A key keeps its existing row. A row without a token gets
// one.
func RestoreRow(ctx context.Context, l *Ledger, row engine.Row) error {
	err := checkNeed(row.Need)
	if err == nil {
		err = l.store.exec(ctx, restoreSQL, l.region, row.Key, row.Name, row.HostKey, row.Zone, row.Group,
			row.Need.Cores, row.Need.MemoryMiB, encodePools(row.Need.DiskBytes), max(1, row.Attempt), encodeList(row.Excluded),
			row.SystemID, row.Since.UnixMilli(), cmp.Or(row.Token, newToken()), row.Need.HugePagesMiB, row.State, neverShown)
	}
	if err != nil {
		return fmt.Errorf("cannot restore the row of %s: %w", row.Key, err)
	}
	return nil
}
