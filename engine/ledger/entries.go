package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// Entry is a ledger's state of a key in one MAAS: a row, a lease, or both.
type Entry struct {
	Region string
	Row    engine.Row // only its Key where there is none
	// Lease belongs to the run that makes the key's object, or that died while
	// it made it.
	Lease lease.Lease // its Holder is empty where there is none
}

// HasRow reports whether room is reserved for the key.
func (e Entry) HasRow() bool { return e.Row.Token != "" }

// busyReason says why only the run of the entry may touch it now; empty: anybody may.
func (e Entry) busyReason() string {
	switch {
	case e.Lease.Holder != "" && !e.Lease.HasDeadHolder():
		return fmt.Sprintf("%s is making it", e.Lease.Process)
	case e.HasRow() && e.Row.SystemID == "" && e.Row.Age < engine.ComposeWindow:
		return fmt.Sprintf("MAAS may be composing it for another %s", (engine.ComposeWindow - e.Row.Age).Round(time.Second))
	}
	return ""
}

// ListEntries lists the entries of all keys with a prefix, by MAAS and by key.
func ListEntries(ctx context.Context, l *Ledger, prefix string) ([]Entry, error) {
	regions, err := l.store.listRegions(ctx)
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, region := range regions {
		of, err := listRegionEntries(ctx, l.Region(region), prefix)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// listRegions names the MAASes in the ledger.
func (s *store) listRegions(ctx context.Context) (names []string, err error) {
	var list string
	err = s.queryRow(ctx, `
SELECT json_group_array(region) FROM (SELECT region FROM reservations UNION SELECT region FROM leases ORDER BY 1)`, nil, &list)
	if err == nil {
		err = decodeJSON(list, &names)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the MAASes of the ledger: %w", err)
	}
	return names, nil
}

// listRegionEntries lists the entries of one MAAS.
func listRegionEntries(ctx context.Context, l *Ledger, prefix string) ([]Entry, error) {
	rows, err := l.Rows(ctx)
	if err != nil {
		return nil, err
	}
	leases, err := l.LeaseTable().Leases(ctx, prefix)
	if err != nil {
		return nil, err
	}
	of := map[engine.Key]lease.Lease{}
	for _, each := range leases {
		of[each.Key] = each
	}
	var all []Entry
	for _, row := range rows {
		if strings.HasPrefix(string(row.Key), prefix) {
			all = append(all, Entry{l.region, row, of[row.Key]})
			delete(of, row.Key)
		}
	}
	for _, each := range leases {
		if _, alone := of[each.Key]; alone {
			all = append(all, Entry{l.region, engine.Row{Key: each.Key}, each})
		}
	}
	return all, nil
}

// ForgetEntry drops the row and lease of a key, as they were listed. It returns
// an *engine.Refusal: with ErrBusy if a run works on the key, with ErrConflict
// if it has changed since.
func ForgetEntry(ctx context.Context, l *Ledger, e Entry) error {
	if why := e.busyReason(); why != "" {
		return &engine.Refusal{
			Message: fmt.Sprintf("%s is not forgotten: %s", e.Row.Key, why),
			Hint:    "Wait until that is over, and try again.", Err: engine.ErrBusy,
		}
	}
	if err := dropEntry(ctx, l, e); err != nil {
		return err
	}
	_, err := l.Region(e.Region).Row(ctx, e.Row.Key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = &engine.Refusal{
			Message: fmt.Sprintf("%s is not forgotten: a run has changed it meanwhile", e.Row.Key),
			Hint:    "List the rows again.", Err: engine.ErrConflict,
		}
	}
	return err
}

// dropEntry drops the row and the lease if they have not changed since they
// were listed.
func dropEntry(ctx context.Context, l *Ledger, e Entry) error {
	of := l.Region(e.Region)
	if e.HasRow() {
		if err := of.Drop(ctx, e.Row); err != nil {
			return err
		}
	}
	if e.Lease.Holder == "" {
		return nil
	}
	return of.LeaseTable().DropLease(ctx, e.Row.Key, e.Lease.Holder)
}
