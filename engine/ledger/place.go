package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// wireCandidate is a candidate that fits, as the statement reads it. What is
// spare is left on the host after the VM, if nothing is missing from the
// inventory.
type wireCandidate struct {
	Host        string           `json:"host"`
	Zone        string           `json:"zone"`
	Rank        int64            `json:"rank"`
	Step        int64            `json:"step"`
	SpareCores  int64            `json:"spare_cores"`
	SpareMemory int64            `json:"spare_memory"`
	SparePages  int64            `json:"spare_pages"` // MiB of huge pages
	SparePools  map[string]int64 `json:"spare_pools"` // bytes, of the pools in Disks
	Disks       map[string]int64 `json:"disks"`       // bytes that the VM takes on this host
}

// best chooses a host for a key. In words: among the candidates that are not
// excluded and have room beside what the inventory cannot show, the one with
// the fewest of the group in its zone, then on it, then the least by rank. A
// member counts in the zone that its host is in now, if the inventory shows
// that host, and else in the one that it was in.
//
//	?1 region  ?2 key  ?3 candidates  ?4 excluded hosts  ?5 group  ?6 cores
//	?7 MiB  ?8 and ?9 the inventory's generation and sequence  ?14 the generation of this handle
//	?15 MiB of huge pages
const best = `
WITH
inventory (generation, sequence, opened) AS (VALUES (?8, ?9, ?14)),
candidate AS MATERIALIZED (
  SELECT json_extract(value, '$.host') AS host_key, json_extract(value, '$.zone') AS zone,
         json_extract(value, '$.rank') AS rank, json_extract(value, '$.step') AS step,
         json_extract(value, '$.spare_cores') AS spare_cores, json_extract(value, '$.spare_memory') AS spare_memory,
         json_extract(value, '$.spare_pages') AS spare_pages, value
  FROM json_each(?3)
),
unseen AS MATERIALIZED (
  SELECT host_key, cores, memory_mib, huge_pages_mib, disks FROM reservations
  WHERE region = ?1 AND shown_from > ?9 AND key <> ?2
),
load AS MATERIALIZED (
  SELECT host_key, count(*) AS vms, sum(cores) AS cores, sum(memory_mib) AS memory_mib, sum(huge_pages_mib) AS huge_pages_mib
  FROM unseen GROUP BY host_key
),
pool_load AS MATERIALIZED (
  SELECT host_key, d.key AS pool, sum(d.value) AS bytes FROM unseen, json_each(unseen.disks) AS d GROUP BY host_key, d.key
),
peer AS MATERIALIZED (
  SELECT host_key, zone, count(*) AS vms FROM reservations
  WHERE region = ?1 AND peer_group = ?5 AND peer_group <> '' AND state <> 'leaving' AND key <> ?2
  GROUP BY host_key, zone
),
host_peer AS MATERIALIZED (SELECT host_key, sum(vms) AS vms FROM peer GROUP BY host_key),
zone_peer AS MATERIALIZED (
  SELECT coalesce(c.zone, peer.zone) AS zone, sum(vms) AS vms
  FROM peer LEFT JOIN candidate AS c ON c.host_key = peer.host_key GROUP BY 1
),
failed AS MATERIALIZED (
  SELECT value AS host_key FROM json_each(?4)
  UNION SELECT f.value FROM reservations AS r, json_each(r.excluded) AS f WHERE r.region = ?1 AND r.key = ?2
),
best AS (
  SELECT c.host_key, c.zone, c.value FROM candidate AS c
  LEFT JOIN load ON load.host_key = c.host_key
  LEFT JOIN zone_peer ON zone_peer.zone = c.zone
  LEFT JOIN host_peer ON host_peer.host_key = c.host_key
  WHERE EXISTS (` + serving + `)
    AND c.host_key NOT IN (SELECT host_key FROM failed)
    AND c.host_key NOT IN (SELECT host_key FROM closed_hosts WHERE region = ?1)
    AND (load.vms IS NULL
      OR load.cores <= c.spare_cores AND load.memory_mib <= c.spare_memory AND load.huge_pages_mib <= c.spare_pages
      AND NOT EXISTS (
        SELECT 1 FROM json_each(c.value, '$.spare_pools') AS p
        JOIN pool_load AS l ON l.host_key = c.host_key AND l.pool = p.key
        WHERE l.bytes > p.value))
  ORDER BY coalesce(zone_peer.vms, 0), coalesce(host_peer.vms, 0), c.rank + c.step * coalesce(load.vms, 0), c.host_key
  LIMIT 1
)`

// place and move go on with the parameters of best:
//
//	?10 name, or the attempt  ?11 milliseconds  ?12 token  ?13 never
const (
	place = best + `
INSERT INTO reservations (region, key, name, host_key, zone, peer_group, cores, memory_mib, huge_pages_mib, disks,
  attempt, excluded, state, system_id, since_ms, token, shown_from)
SELECT ?1, ?2, ?10, host_key, zone, ?5, ?6, ?7, ?15, json_extract(value, '$.disks'), 1, ?4, 'pending', '', ?11, ?12, ?13
FROM best WHERE true
ON CONFLICT (region, key) DO NOTHING`

	move = best + `
UPDATE reservations SET host_key = best.host_key, zone = best.zone, peer_group = ?5,
  cores = ?6, memory_mib = ?7, huge_pages_mib = ?15, disks = json_extract(best.value, '$.disks'), attempt = ?10,
  excluded = (SELECT json_group_array(host_key) FROM (SELECT host_key FROM failed ORDER BY host_key)),
  state = 'pending', system_id = '', since_ms = ?11, token = ?12, shown_from = ?13
FROM best
WHERE region = ?1 AND key = ?2 AND attempt < ?10 AND state <> 'leaving'`
)

// Place implements engine.Ledger.
func (l *Ledger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	return l.PlaceOnce(ctx, newToken(), r)
}

// PlaceOnce does what Place does, for a call that may be sent several times: fresh is
// true for all sendings of the call that made the row. The token is of that call alone.
func (l *Ledger) PlaceOnce(ctx context.Context, token string, r engine.Reservation) (engine.Row, bool, error) {
	row, err := l.send(ctx, place, r, r.Name, token)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return engine.Row{}, false, l.refusal(ctx, r, r.Exclude)
	case err != nil:
		return engine.Row{}, false, fmt.Errorf("cannot reserve room for %s: %w", r.Name, err)
	}
	return row, row.Token == token, nil
}

// Move implements engine.Ledger.
func (l *Ledger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	return l.MoveOnce(ctx, newToken(), attempt, r)
}

// MoveOnce does what Move does, for a call that may be sent several times, as PlaceOnce.
func (l *Ledger) MoveOnce(ctx context.Context, token string, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	row, err := l.send(ctx, move, r, attempt, token)
	switch {
	case err != nil:
		return engine.Row{}, false, fmt.Errorf("cannot move the reservation of %s: %w", r.Name, err)
	case row.State == engine.RowLeaving:
		return engine.Row{}, false, fmt.Errorf("%s is being deleted: %w", r.Name, engine.ErrBusy)
	case row.Attempt < attempt:
		return engine.Row{}, false, l.refusal(ctx, r, slices.Concat(r.Exclude, row.Excluded))
	}
	return row, row.Token == token, nil
}

// send places or moves, and returns the row that is there then.
func (l *Ledger) send(ctx context.Context, statement string, r engine.Reservation, nameOrAttempt any, token string) (engine.Row, error) {
	if err := check(r); err != nil {
		return engine.Row{}, err
	}
	return l.change(ctx, r.Key, statement, l.region, r.Key, list(fitting(r)), list(r.Exclude), r.Group,
		r.Need.Cores, r.Need.MemoryMiB, r.Inventory.Generation, r.Inventory.Sequence,
		nameOrAttempt, l.now().UnixMilli(), token, never, l.store.opened, r.Need.HugePagesMiB)
}

// The most that one VM may need. Sums of many rows stay far from the end of an int64,
// where SQLite would refuse every reservation.
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

// fitting are the candidates on which the VM fits if the inventory lacks
// nothing. The others need not be asked about.
func fitting(r engine.Reservation) []wireCandidate {
	wire := make([]wireCandidate, 0, len(r.Candidates))
	for _, c := range r.Candidates {
		disks := onHost(r.Need, c)
		if !fits(r.Need, disks, c.Free) {
			continue
		}
		spare := make(map[string]int64, len(disks))
		for pool, bytes := range disks {
			spare[pool] = c.Free.DiskBytes[pool] - bytes
		}
		wire = append(wire, wireCandidate{
			Host: c.HostKey, Zone: c.Zone, Rank: c.Rank, Step: c.Step, Disks: disks,
			SpareCores: c.Free.Cores - r.Need.Cores, SpareMemory: c.Free.MemoryMiB - r.Need.MemoryMiB,
			SparePages: c.Free.HugePagesMiB - r.Need.HugePagesMiB, SparePools: spare,
		})
	}
	return wire
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
