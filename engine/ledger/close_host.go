package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// closeMargin is how far a close may be dated ahead of its longest lease,
// because clocks of two runs differ. An ignored close may cost a VM. A close
// that counts for too long costs minutes. So the margin is far longer than
// clockSlack.
const closeMargin = 8 * time.Minute

// closeHostSQL closes a host, or continues the holder's own close. It does nothing while
// MAAS may be composing a VM there.
//
//	?1 to ?5 are those of composingOnHostSQL  ?6 holder  ?7 until  ?8 now  ?9 the latest end of a close that counts
const closeHostSQL = `
INSERT INTO closed_hosts (region, host_key, holder, until_ms)
SELECT ?1, ?2, ?6, ?7 WHERE NOT EXISTS (` + composingOnHostSQL + `)
ON CONFLICT (region, host_key) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
WHERE closed_hosts.holder = excluded.holder OR closed_hosts.until_ms <= ?8 OR closed_hosts.until_ms > ?9`

// composingOnHostSQL selects the rows of VMs that MAAS may be composing on a host.
//
//	?1 region  ?2 host  ?3 composes since  ?4 key that does not count  ?5 never
const composingOnHostSQL = `
  SELECT name, since_ms FROM reservations
  WHERE region = ?1 AND shown_from = ?5 AND host_key = ?2 AND system_id = '' AND since_ms > ?3 AND key <> ?4`

// CloseHost implements engine.Ledger.
func (l *Ledger) CloseHost(ctx context.Context, c engine.HostCloseRequest) error {
	now := l.now()
	latest := maxCloseEnd(now)
	until, since := now.Add(c.Lease).UnixMilli(), now.Add(-c.Window).UnixMilli()
	closed, composed := hostClose{}, composingVMs{}
	err := l.store.runTransaction(ctx, func(ctx context.Context, tx transaction) error {
		err := tx.exec(ctx, closeHostSQL, l.region, c.HostKey, since, c.Except, neverShown, c.Holder, until, now.UnixMilli(), latest)
		if err == nil {
			err = closed.read(ctx, tx, l.region, c.HostKey)
		}
		if err == nil {
			err = composed.read(ctx, tx, l.region, c, since)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot close the VM host %s in the ledger: %w", c.HostKey, err)
	}
	counts := closed.ends > now.UnixMilli() && closed.ends <= latest
	switch {
	case closed.holder == c.Holder && closed.ends == until:
		return nil
	case counts && closed.holder != c.Holder:
		return fmt.Errorf("another run removes or changes the VM host: %w", engine.ErrBusy)
	}
	return l.refuseCloseWhileComposing(ctx, composed, now)
}

// hostClose is the close of a host. Without an end, the host is open.
type hostClose struct {
	holder string
	ends   int64
}

func (h *hostClose) read(ctx context.Context, tx transaction, region, hostKey string) error {
	*h = hostClose{}
	err := tx.queryRow(ctx, `SELECT holder, until_ms FROM closed_hosts WHERE region = ?1 AND host_key = ?2`, []any{region, hostKey}, &h.holder, &h.ends)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// composingVMs describes the VMs that MAAS may be composing on a host.
type composingVMs struct {
	name   string // of one of the VMs
	latest int64  // time when the last compose began
}

func (v *composingVMs) read(ctx context.Context, tx transaction, region string, c engine.HostCloseRequest, since int64) error {
	return tx.queryRow(ctx, `SELECT coalesce(max(name), 'a VM') AS name, coalesce(max(since_ms), 0) FROM (`+composingOnHostSQL+`)`,
		[]any{region, c.HostKey, since, c.Except, neverShown}, &v.name, &v.latest)
}

// refuseCloseWhileComposing names the VM that prevents the close of a host.
// Rows that are dated ahead are redated to now. Otherwise they would prevent
// the close until their date.
func (l *Ledger) refuseCloseWhileComposing(ctx context.Context, composed composingVMs, now time.Time) error {
	if composed.latest > now.Add(clockSlack).UnixMilli() {
		if _, err := l.redateRowsAhead(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s is being composed on the VM host, which must wait: %w", composed.name, engine.ErrBusy)
}

// maxCloseEnd is the latest possible end of a close. A close with a later end
// was written by a clock that was ahead, and does not count.
func maxCloseEnd(now time.Time) int64 {
	return now.Add(engine.MaxCloseLease + closeMargin).UnixMilli()
}

// OpenHost implements engine.Ledger.
func (l *Ledger) OpenHost(ctx context.Context, hostKey, holder string) error {
	err := l.store.exec(ctx, `
DELETE FROM closed_hosts WHERE region = ?1 AND host_key = ?2 AND (holder = ?3 OR ?3 = '')`, l.region, hostKey, holder)
	if err != nil {
		return fmt.Errorf("cannot open the VM host %s in the ledger: %w", hostKey, err)
	}
	return nil
}

// listClosedHosts lists the hosts that are closed.
func listClosedHosts(ctx context.Context, l *Ledger) (hosts []string, err error) {
	var list string
	err = l.store.queryRow(ctx, `SELECT json_group_array(host_key) FROM closed_hosts WHERE region = ?1`, []any{l.region}, &list)
	if err == nil {
		err = decodeJSON(list, &hosts)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the closed VM hosts: %w", err)
	}
	return hosts, nil
}

// removeEndedCloses removes all closes that do not count, in all regions: those
// that are over, and those that are dated ahead.
func (s *store) removeEndedCloses(ctx context.Context, now time.Time) error {
	return s.exec(ctx, `DELETE FROM closed_hosts WHERE until_ms <= ?1 OR until_ms > ?2`, now.UnixMilli(), maxCloseEnd(now))
}
