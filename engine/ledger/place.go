package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/room"
)

// placeSQL and moveSQL reserve the chosen room.
//
//	?1 region  ?2 key  ?3 name  ?4 host  ?5 zone  ?6 group  ?7 cores  ?8 MiB  ?9 MiB of huge pages  ?10 disks
//	?11 attempt  ?12 excluded hosts  ?13 milliseconds  ?14 token  ?15 neverShown
const (
	placeSQL = `
INSERT INTO reservations (region, key, name, host_key, zone, peer_group, cores, memory_mib, huge_pages_mib, disks,
  attempt, excluded, state, system_id, since_ms, token, shown_from)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'pending', '', ?13, ?14, ?15)
ON CONFLICT (region, key) DO NOTHING`

	moveSQL = `
UPDATE reservations SET host_key = ?4, zone = ?5, peer_group = ?6,
  cores = ?7, memory_mib = ?8, huge_pages_mib = ?9, disks = ?10, attempt = ?11,
  excluded = ?12, state = 'pending', system_id = '', since_ms = ?13, token = ?14, shown_from = ?15
WHERE region = ?1 AND key = ?2`
)

// Place implements engine.Ledger.
func (l *Ledger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	return l.PlaceWithToken(ctx, newToken(), r)
}

// PlaceWithToken is Place for a call that may be sent several times. fresh is
// true for each sending of the call that made the row. The token belongs to
// that call alone.
func (l *Ledger) PlaceWithToken(ctx context.Context, token string, r engine.Reservation) (engine.Row, bool, error) {
	if err := checkReservation(r); err != nil {
		return engine.Row{}, false, fmt.Errorf("cannot reserve room for %s: %w", r.Name, err)
	}
	have := rowLookup{}
	err := l.store.runTransaction(ctx, func(ctx context.Context, tx transaction) error {
		have = rowLookup{}
		t, err := cachedOrReadOccupancy(ctx, tx, l, r)
		if err != nil {
			return err
		}
		host, fresh := t.ChooseHost(r, r.Exclude)
		if fresh {
			have.scannedRow = newPendingRow(l, r, host, 1, r.Exclude, token)
			fresh, err = tx.insert(ctx, placeSQL, reservationArgs(l, have.scannedRow)...)
		}
		switch {
		case err != nil:
			return err
		case fresh:
			t.AddPlaced(r, host)
		default:
			err = have.readFrom(ctx, tx, l.region, r.Key)
		}
		tx.cacheOccupancy(t) // the row is the only change
		return err
	})
	switch {
	case err != nil:
		return engine.Row{}, false, fmt.Errorf("cannot reserve room for %s: %w", r.Name, err)
	case have.isMissing:
		return engine.Row{}, false, l.notPlacedError(ctx, r, r.Exclude)
	}
	row, err := finishLookup(ctx, l, r.Key, have)
	return row, err == nil && row.Token == token, err
}

// Move implements engine.Ledger.
func (l *Ledger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	return l.MoveWithToken(ctx, newToken(), attempt, r)
}

// MoveWithToken is Move for a call that may be sent several times, like
// PlaceWithToken.
func (l *Ledger) MoveWithToken(ctx context.Context, token string, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	if err := checkReservation(r); err != nil {
		return engine.Row{}, false, fmt.Errorf("cannot move the reservation of %s: %w", r.Name, err)
	}
	have := rowLookup{}
	err := l.store.runTransaction(ctx, func(ctx context.Context, tx transaction) error {
		if err := have.readFrom(ctx, tx, l.region, r.Key); err != nil || have.isMissing || have.row.Attempt >= attempt || have.row.State == engine.RowLeaving {
			return err
		}
		row, err := have.decodeRow()
		if err != nil {
			return &contentError{err}
		}
		t, err := readOccupancy(ctx, tx, l, r, r.Key)
		if err != nil {
			return err
		}
		excluded := slices.Concat(r.Exclude, row.Excluded)
		if host, ok := t.ChooseHost(r, excluded); ok {
			have.scannedRow = newPendingRow(l, r, host, attempt, excluded, token)
			have.row.Name = row.Name // a move keeps the name
			err = tx.exec(ctx, moveSQL, reservationArgs(l, have.scannedRow)...)
		}
		return err
	})
	if err != nil {
		return engine.Row{}, false, fmt.Errorf("cannot move the reservation of %s: %w", r.Name, err)
	}
	row, err := finishLookup(ctx, l, r.Key, have)
	switch {
	case err != nil:
		return engine.Row{}, false, err
	case row.State == engine.RowLeaving:
		return engine.Row{}, false, fmt.Errorf("%s is being deleted: %w", r.Name, engine.ErrBusy)
	case row.Attempt < attempt:
		return engine.Row{}, false, l.notPlacedError(ctx, r, slices.Concat(r.Exclude, row.Excluded))
	}
	return row, row.Token == token, nil
}

// cachedOrReadOccupancy returns the occupancy for a reservation, from the
// transaction's cache or from the tables.
func cachedOrReadOccupancy(ctx context.Context, tx transaction, l *Ledger, r engine.Reservation) (*room.Occupancy, error) {
	if t := tx.cachedOccupancy(); t != nil && t.IsCompleteFor(l.region, r) {
		return t, nil
	}
	return readOccupancy(ctx, tx, l, r, "")
}

// readOccupancy reads the occupancy for a reservation. The row of the key
// except does not count.
//
//	?1 region  ?2 the key  ?3 to ?5 the inventory's generation and sequence, the generation of this handle  ?6 group
func readOccupancy(ctx context.Context, tx transaction, l *Ledger, r engine.Reservation, except engine.Key) (*room.Occupancy, error) {
	t := &room.Occupancy{Region: l.region, Inventory: r.Inventory, Group: r.Group}
	var closed, unseen, peers string
	err := tx.queryRow(ctx, `
SELECT floor, (`+newestServingSQL+`),
  (SELECT json_group_array(host_key) FROM closed_hosts WHERE region = ?1),
  (SELECT json_group_array(json_object('Host', host_key, 'VMs', vms, 'Cores', cores, 'MemoryMiB', memory_mib, 'HugePagesMiB', huge_pages_mib,
      'Disks', json(disks), 'ShownFrom', shown_from))
   FROM (SELECT host_key, disks, shown_from, count(*) AS vms, sum(cores) AS cores, sum(memory_mib) AS memory_mib, sum(huge_pages_mib) AS huge_pages_mib
     FROM reservations WHERE region = ?1 AND shown_from > ?4 AND key <> ?2 GROUP BY host_key, disks, shown_from)),
  (SELECT json_group_array(json_object('Host', host_key, 'Zone', zone, 'VMs', vms))
   FROM (SELECT host_key, zone, count(*) AS vms FROM reservations
     WHERE region = ?1 AND peer_group = ?6 AND peer_group <> '' AND state <> 'leaving' AND key <> ?2 GROUP BY host_key, zone))
FROM tag`,
		[]any{l.region, except, r.Inventory.Generation, r.Inventory.Sequence, l.store.openedGeneration, r.Group},
		&t.ServingSequences.From, &t.ServingSequences.To, &closed, &unseen, &peers)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(decodeJSON(closed, &t.ClosedHosts), decodeJSON(unseen, &t.UnshownLoads), decodeJSON(peers, &t.Peers)); err != nil {
		return nil, &contentError{fmt.Errorf("what the ledger has makes no sense: %w", err)}
	}
	return t, nil
}

// newPendingRow is the row of a VM that is to be made on a host.
func newPendingRow(l *Ledger, r engine.Reservation, host engine.Candidate, attempt int, excluded []string, token string) scannedRow {
	need := r.Need
	need.DiskBytes = nil // the row has the disks as they are on the host
	row := engine.Row{
		Key: r.Key, Name: r.Name, HostKey: host.HostKey, Zone: host.Zone, Group: r.Group,
		Need: need, Attempt: attempt, State: engine.RowPending, Token: token,
	}
	excluded = slices.Compact(slices.Sorted(slices.Values(excluded)))
	return scannedRow{row: row, disks: encodePools(room.DisksOnHost(r.Need, host)), excluded: encodeList(excluded), sinceMS: l.now().UnixMilli()}
}

// reservationArgs returns the parameters of placeSQL and moveSQL.
func reservationArgs(l *Ledger, s scannedRow) []any {
	r := s.row
	return []any{
		l.region, r.Key, r.Name, r.HostKey, r.Zone, r.Group, r.Need.Cores, r.Need.MemoryMiB, r.Need.HugePagesMiB, s.disks,
		r.Attempt, s.excluded, s.sinceMS, r.Token, neverShown,
	}
}

// The largest need of one VM. Sums of many such rows are far below the largest int64.
const (
	maxNeedUnits = 1 << 40 // cores, or MiB
	maxNeedBytes = 1 << 50
)

// checkNeed refuses a need that no VM can have.
func checkNeed(n engine.Need) error {
	for _, units := range []int64{n.Cores, n.MemoryMiB, n.HugePagesMiB} {
		if units < 0 || units > maxNeedUnits {
			return fmt.Errorf("a VM needs no %d cores, %d MiB and %d MiB of huge pages: %w",
				n.Cores, n.MemoryMiB, n.HugePagesMiB, engine.ErrInvalid)
		}
	}
	for pool, bytes := range n.DiskBytes {
		if bytes < 0 || bytes > maxNeedBytes {
			return fmt.Errorf("a VM needs no %d bytes of storage pool %q: %w", bytes, pool, engine.ErrInvalid)
		}
	}
	return nil
}

func checkReservation(r engine.Reservation) error {
	if err := checkNeed(r.Need); err != nil {
		return err
	}
	if r.Inventory.Generation == "" {
		return fmt.Errorf("the inventory of the hosts carries no tag of the ledger: %w", engine.ErrInvalid)
	}
	return nil
}

// notPlacedError says why the VM fits on no candidate.
func (l *Ledger) notPlacedError(ctx context.Context, r engine.Reservation, excluded []string) error {
	serves, belowFloor, err := l.store.compareInventory(ctx, l.now, r.Inventory)
	switch {
	case err != nil:
		return err
	case belowFloor:
		return fmt.Errorf("the inventory of the hosts was read before a compose failed, which may have left an instance: %w", engine.ErrBusy)
	case !serves:
		return fmt.Errorf("the inventory of the hosts was read before the ledger was opened or restored: %w", engine.ErrBusy)
	}
	left := slices.DeleteFunc(slices.Clone(r.Candidates), func(c engine.Candidate) bool {
		return slices.Contains(excluded, c.HostKey)
	})
	roomy := slices.DeleteFunc(slices.Clone(left), func(c engine.Candidate) bool { return !room.FitsFreeRoom(r.Need, room.DisksOnHost(r.Need, c), c.Free) })
	closed, err := listClosedHosts(ctx, l)
	switch {
	case err != nil:
		return err
	case len(roomy) > 0 && !slices.ContainsFunc(roomy, func(c engine.Candidate) bool { return !slices.Contains(closed, c.HostKey) }):
		return hostClosedError(r.Name)
	case len(roomy) > 0:
		return fmt.Errorf("the room that %s needs is taken by VMs that are being made or deleted: %w", r.Name, engine.ErrBusy)
	}
	message := fmt.Sprintf("no VM host has room for %s", r.Name)
	if r.Need.HugePagesMiB > 0 {
		message += fmt.Sprintf(", which needs %d MiB of huge pages", r.Need.HugePagesMiB)
	}
	if n := len(r.Candidates) - len(left); n > 0 {
		message += fmt.Sprintf(", without the %d on which it failed before", n)
	}
	return &engine.Error{
		Type: engine.InsufficientResources, Message: message,
		Hint: "Make the VM smaller, remove others, or add a VM host.",
	}
}
