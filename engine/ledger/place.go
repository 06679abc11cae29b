package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// place and move take the room that was chosen.
//
//	?1 region  ?2 key  ?3 name  ?4 host  ?5 zone  ?6 group  ?7 cores  ?8 MiB  ?9 MiB of huge pages  ?10 disks
//	?11 attempt  ?12 excluded hosts  ?13 milliseconds  ?14 token  ?15 never
const (
	place = `
INSERT INTO reservations (region, key, name, host_key, zone, peer_group, cores, memory_mib, huge_pages_mib, disks,
  attempt, excluded, state, system_id, since_ms, token, shown_from)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'pending', '', ?13, ?14, ?15)
ON CONFLICT (region, key) DO NOTHING`

	move = `
UPDATE reservations SET host_key = ?4, zone = ?5, peer_group = ?6,
  cores = ?7, memory_mib = ?8, huge_pages_mib = ?9, disks = ?10, attempt = ?11,
  excluded = ?12, state = 'pending', system_id = '', since_ms = ?13, token = ?14, shown_from = ?15
WHERE region = ?1 AND key = ?2`
)

// Place implements engine.Ledger.
func (l *Ledger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	return l.PlaceOnce(ctx, newToken(), r)
}

// PlaceOnce does what Place does, for a call that may be sent several times: fresh is
// true for all sendings of the call that made the row. The token is of that call alone.
func (l *Ledger) PlaceOnce(ctx context.Context, token string, r engine.Reservation) (engine.Row, bool, error) {
	if err := check(r); err != nil {
		return engine.Row{}, false, fmt.Errorf("cannot reserve room for %s: %w", r.Name, err)
	}
	have := lookup{}
	err := l.store.do(ctx, func(ctx context.Context, tx transaction) error {
		have = lookup{}
		t, err := l.takenFor(ctx, tx, r)
		if err != nil {
			return err
		}
		host, fresh := t.choose(r, r.Exclude)
		if fresh {
			have.scan = l.pending(r, host, 1, r.Exclude, token)
			fresh, err = tx.insert(ctx, place, l.values(have.scan)...)
		}
		switch {
		case err != nil:
			return err
		case fresh:
			t.add(r, host)
		default:
			err = have.readIn(ctx, tx, l.region, r.Key)
		}
		tx.keep(t) // nothing else has changed
		return err
	})
	switch {
	case err != nil:
		return engine.Row{}, false, fmt.Errorf("cannot reserve room for %s: %w", r.Name, err)
	case have.isNone:
		return engine.Row{}, false, l.refusal(ctx, r, r.Exclude)
	}
	row, err := l.found(ctx, r.Key, have)
	return row, err == nil && row.Token == token, err
}

// Move implements engine.Ledger.
func (l *Ledger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	return l.MoveOnce(ctx, newToken(), attempt, r)
}

// MoveOnce does what Move does, for a call that may be sent several times, as PlaceOnce.
func (l *Ledger) MoveOnce(ctx context.Context, token string, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	if err := check(r); err != nil {
		return engine.Row{}, false, fmt.Errorf("cannot move the reservation of %s: %w", r.Name, err)
	}
	have := lookup{}
	err := l.store.do(ctx, func(ctx context.Context, tx transaction) error {
		if err := have.readIn(ctx, tx, l.region, r.Key); err != nil || have.isNone || have.row.Attempt >= attempt || have.row.State == engine.RowLeaving {
			return err
		}
		row, err := have.done()
		if err != nil {
			return err
		}
		t, err := l.readTaken(ctx, tx, r, r.Key)
		if err != nil {
			return err
		}
		excluded := slices.Concat(r.Exclude, row.Excluded)
		host, ok := t.choose(r, excluded)
		if !ok {
			return nil
		}
		if err := tx.exec(ctx, move, l.values(l.pending(r, host, attempt, excluded, token))...); err != nil {
			return err
		}
		return have.readIn(ctx, tx, l.region, r.Key)
	})
	if err != nil {
		return engine.Row{}, false, fmt.Errorf("cannot move the reservation of %s: %w", r.Name, err)
	}
	row, err := l.found(ctx, r.Key, have)
	switch {
	case err != nil:
		return engine.Row{}, false, err
	case row.State == engine.RowLeaving:
		return engine.Row{}, false, fmt.Errorf("%s is being deleted: %w", r.Name, engine.ErrBusy)
	case row.Attempt < attempt:
		return engine.Row{}, false, l.refusal(ctx, r, slices.Concat(r.Exclude, row.Excluded))
	}
	return row, row.Token == token, nil
}

// pending is the row of a VM that is to be made on a host.
func (l *Ledger) pending(r engine.Reservation, host engine.Candidate, attempt int, excluded []string, token string) scan {
	need := r.Need
	need.DiskBytes = nil // they are those on the host
	row := engine.Row{
		Key: r.Key, Name: r.Name, HostKey: host.HostKey, Zone: host.Zone, Group: r.Group,
		Need: need, Attempt: attempt, State: engine.RowPending, Token: token,
	}
	excluded = slices.Compact(slices.Sorted(slices.Values(excluded)))
	return scan{row: row, disks: object(onHost(r.Need, host)), excluded: list(excluded), sinceMS: l.now().UnixMilli()}
}

// values are the parameters of place and move.
func (l *Ledger) values(s scan) []any {
	r := s.row
	return []any{
		l.region, r.Key, r.Name, r.HostKey, r.Zone, r.Group, r.Need.Cores, r.Need.MemoryMiB, r.Need.HugePagesMiB, s.disks,
		r.Attempt, s.excluded, s.sinceMS, r.Token, never,
	}
}

// The most that one VM may need. Sums of many rows stay far from the end of an int64.
const (
	mostUnits = 1 << 40 // cores, or MiB
	mostBytes = 1 << 50
)

// checkNeed refuses what no VM can need.
func checkNeed(n engine.Need) error {
	for _, units := range []int64{n.Cores, n.MemoryMiB, n.HugePagesMiB} {
		if units < 0 || units > mostUnits {
			return fmt.Errorf("a VM needs no %d cores, %d MiB and %d MiB of huge pages: %w",
				n.Cores, n.MemoryMiB, n.HugePagesMiB, engine.ErrInvalid)
		}
	}
	for pool, bytes := range n.DiskBytes {
		if bytes < 0 || bytes > mostBytes {
			return fmt.Errorf("a VM needs no %d bytes of storage pool %q: %w", bytes, pool, engine.ErrInvalid)
		}
	}
	return nil
}

func check(r engine.Reservation) error {
	if err := checkNeed(r.Need); err != nil {
		return err
	}
	if r.Inventory.Generation == "" {
		return fmt.Errorf("the inventory of the hosts carries no tag of the ledger: %w", engine.ErrInvalid)
	}
	return nil
}

// onHost names the host's default pool where the need leaves it open.
func onHost(need engine.Need, c engine.Candidate) map[string]int64 {
	disks := make(map[string]int64, len(need.DiskBytes))
	for pool, bytes := range need.DiskBytes {
		if pool == "" {
			pool = c.DefaultPool
		}
		disks[pool] += bytes
	}
	return disks
}

// refusal says why no candidate was taken.
func (l *Ledger) refusal(ctx context.Context, r engine.Reservation, excluded []string) error {
	serves, belowFloor, err := l.store.judgeInventory(ctx, l.now, r.Inventory)
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
	roomy := slices.DeleteFunc(slices.Clone(left), func(c engine.Candidate) bool { return !fits(r.Need, onHost(r.Need, c), c.Free) })
	closed, err := closedHosts(ctx, l)
	switch {
	case err != nil:
		return err
	case len(roomy) > 0 && !slices.ContainsFunc(roomy, func(c engine.Candidate) bool { return !slices.Contains(closed, c.HostKey) }):
		return closedError(r.Name)
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

// fits compares a need, whose disks are those on the host, with what the
// inventory alone says.
func fits(need engine.Need, disks map[string]int64, free engine.Need) bool {
	for pool, bytes := range disks {
		// Below zero are sums beyond all measure.
		if left, ok := free.DiskBytes[pool]; !ok || left < bytes || bytes < 0 {
			return false
		}
	}
	return need.Cores <= free.Cores && need.MemoryMiB <= free.MemoryMiB && need.HugePagesMiB <= free.HugePagesMiB
}
