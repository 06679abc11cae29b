package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// TransferResult counts what Transfer did.
type TransferResult struct {
	Moved        int // keys that the other ledger has now
	AlreadyThere int // of these, the keys that it had already after an interrupted transfer
}

// TransferKeys moves all entries of the keys with a prefix to another ledger.
// Nothing may be under way with them. While a run lives, MAAS may be composing,
// or a VM host is closed, the error is an *engine.Refusal with ErrBusy, and
// nothing has moved. It is an ErrConflict where the other ledger has a
// different row of a key.
//
// It first writes the rows to the other ledger, in one statement, and then
// drops them here. If it is interrupted in between, both ledgers have them. You
// can repeat it as long as neither was used.
func TransferKeys(ctx context.Context, from, to *Ledger, prefix string) (TransferResult, error) {
	entries, err := ListEntries(ctx, from, prefix)
	if err != nil {
		return TransferResult{}, err
	}
	if err := checkNotInUse(ctx, from, entries); err != nil {
		return TransferResult{}, err
	}
	there, err := countSameEntries(ctx, to, entries)
	if err != nil {
		return TransferResult{}, err
	}
	if err := insertRows(ctx, to, entries); err != nil {
		return TransferResult{}, err
	}
	for _, e := range entries {
		if e.Lease.Holder == "" {
			continue
		}
		if _, err := to.Region(e.Region).LeaseTable().TakeLease(ctx, e.Lease, ""); err != nil {
			return TransferResult{}, err
		}
	}
	if now, err := countSameEntries(ctx, to, entries); err != nil || now != len(entries) {
		return TransferResult{}, fmt.Errorf("%d of %d rows have come to the other ledger, and all are still here: %w", now, len(entries), errorOrBusy(err))
	}
	for _, e := range entries {
		if err := dropEntry(ctx, from, e); err != nil {
			return TransferResult{}, err
		}
	}
	return TransferResult{len(entries), there}, checkNoneLeft(ctx, from, prefix, entries)
}

// checkNoneLeft returns an error if rows that were moved are still here, because a run has
// changed them meanwhile.
func checkNoneLeft(ctx context.Context, from *Ledger, prefix string, moved []Entry) error {
	left, err := ListEntries(ctx, from, prefix)
	if err != nil {
		return err
	}
	var changed []string
	for _, e := range moved {
		if slices.ContainsFunc(left, func(l Entry) bool { return l.Region == e.Region && l.Row.Key == e.Row.Key }) {
			changed = append(changed, string(e.Row.Key))
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return &engine.Refusal{
		Message: "a run has changed rows while they were moved, and both ledgers have them: " + strings.Join(changed, ", "),
		Hint:    "Stop all runs and managers. Forget these keys in the other ledger (capi-bridge ledger forget), and try again.", Err: engine.ErrBusy,
	}
}

func errorOrBusy(err error) error {
	if err == nil {
		return engine.ErrBusy
	}
	return err
}

// checkNotInUse refuses to move entries that somebody is using.
func checkNotInUse(ctx context.Context, from *Ledger, entries []Entry) error {
	var busy []string
	for _, e := range entries {
		if why := e.busyReason(); why != "" {
			busy = append(busy, fmt.Sprintf("%s (%s)", e.Row.Key, why))
		}
	}
	var closed int
	if err := from.store.queryRow(ctx, `SELECT count(*) FROM closed_hosts WHERE until_ms > ?1`, []any{from.now().UnixMilli()}, &closed); err != nil {
		return fmt.Errorf("cannot list the closed VM hosts: %w", err)
	}
	if closed > 0 {
		busy = append(busy, fmt.Sprintf("VM hosts that are being removed or changed: %d", closed))
	}
	if len(busy) == 0 {
		return nil
	}
	return &engine.Refusal{
		Message: "the ledger is in use: " + strings.Join(busy, ", "),
		Hint:    "Stop all runs and managers that use it, and try again when MAAS can no longer be composing. Nothing has moved.", Err: engine.ErrBusy,
	}
}

// countSameEntries counts the entries that the other ledger has, too. Other entries of the same
// keys are an error that names them.
func countSameEntries(ctx context.Context, to *Ledger, entries []Entry) (same int, err error) {
	others, err := ListEntries(ctx, to, "")
	if err != nil {
		return 0, err
	}
	type name struct {
		region string
		key    engine.Key
	}
	have := map[name]Entry{}
	for _, other := range others {
		have[name{other.Region, other.Row.Key}] = other
	}
	var conflicts []string
	for _, e := range entries {
		other, ok := have[name{e.Region, e.Row.Key}]
		switch {
		case !ok:
		case e.isContainedIn(other):
			same++
		case other.differsFrom(e):
			conflicts = append(conflicts, fmt.Sprintf("%s in %s", e.Row.Key, e.Region))
		}
	}
	if len(conflicts) == 0 {
		return same, nil
	}
	slices.Sort(conflicts)
	return 0, &engine.Refusal{
		Message: "both ledgers have rows of the same keys, which differ: " + strings.Join(conflicts, ", "),
		Hint:    "See which ones are right, and forget the others: capi-bridge ledger rows, capi-bridge ledger forget. Nothing has moved.", Err: engine.ErrConflict,
	}
}

// isContainedIn reports whether the other ledger has everything of this entry.
func (e Entry) isContainedIn(other Entry) bool {
	return e.Row.Token == other.Row.Token && e.Row.State == other.Row.State && e.Row.SystemID == other.Row.SystemID &&
		(e.Lease.Holder == "" || e.Lease.Holder == other.Lease.Holder)
}

// differsFrom reports whether two entries of one key contradict each other.
func (e Entry) differsFrom(other Entry) bool {
	return e.HasRow() && (e.Row.Token != other.Row.Token || e.Row.State != other.Row.State || e.Row.SystemID != other.Row.SystemID) ||
		e.Lease.Holder != "" && e.Lease.Holder != other.Lease.Holder
}

// movedRow is a row that is sent to another ledger.
type movedRow struct {
	Region string `json:"region"`
	engine.Row
	Disks   string `json:"disks"`
	Failed  string `json:"failed"` // hosts that are excluded
	SinceMS int64  `json:"since_ms"`
}

// insertRowsSQL inserts rows of all regions.
//
//	?1 the rows  ?2 never
const insertRowsSQL = `
INSERT INTO reservations (region, key, name, host_key, zone, peer_group, cores, memory_mib, huge_pages_mib, disks,
  attempt, excluded, state, system_id, since_ms, token, shown_from)
SELECT json_extract(value, '$.region'), json_extract(value, '$.Key'), json_extract(value, '$.Name'),
  json_extract(value, '$.HostKey'), json_extract(value, '$.Zone'), json_extract(value, '$.Group'),
  json_extract(value, '$.Need.Cores'), json_extract(value, '$.Need.MemoryMiB'), json_extract(value, '$.Need.HugePagesMiB'),
  json_extract(value, '$.disks'), json_extract(value, '$.Attempt'), json_extract(value, '$.failed'),
  json_extract(value, '$.State'), json_extract(value, '$.SystemID'), json_extract(value, '$.since_ms'),
  json_extract(value, '$.Token'),
  CASE json_extract(value, '$.State') WHEN 'bound' THEN (SELECT sequence + 1 FROM tag) ELSE ?2 END
FROM json_each(?1) WHERE true
ON CONFLICT (region, key) DO NOTHING`

// insertRows inserts the rows of entries. It ends the trust in older inventories, because none
// of them shows what composes of the former ledger left.
func insertRows(ctx context.Context, to *Ledger, entries []Entry) error {
	var rows []movedRow
	for _, e := range entries {
		if e.HasRow() {
			rows = append(rows, movedRow{e.Region, e.Row, encodePools(e.Row.Need.DiskBytes), encodeList(e.Row.Excluded), e.Row.Since.UnixMilli()})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := to.store.exec(ctx, insertRowsSQL, encodeJSON(rows), neverShown); err != nil {
		return fmt.Errorf("cannot write the rows into the other ledger: %w", err)
	}
	if err := to.store.exec(ctx, `UPDATE tag SET sequence = sequence + 1, floor = sequence + 1`); err != nil {
		return fmt.Errorf("cannot end the inventories of the other ledger: %w", err)
	}
	return nil
}
