package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// wireCandidate is a candidate as the statement reads it.
type wireCandidate struct {
	Host   int              `json:"host"`
	Zone   string           `json:"zone"`
	Rank   int64            `json:"rank"`
	Step   int64            `json:"step"`
	Cores  int64            `json:"cores"`
	Memory int64            `json:"memory"`
	Pools  map[string]int64 `json:"pools"` // bytes that are free
	Disks  map[string]int64 `json:"disks"` // bytes that the VM needs on this host
}

// best chooses a host for a key. In words: among the candidates that are not
// excluded and have room beside what the inventory cannot show, the one with
// the fewest of the group in its zone, then on it, then the least by rank.
//
//	?1 region  ?2 key  ?3 candidates  ?4 excluded hosts  ?5 group  ?6 cores
//	?7 MiB  ?8 and ?9 the inventory's generation and sequence
const best = `
WITH
candidate AS MATERIALIZED (
  SELECT json_extract(value, '$.host') AS host_id, json_extract(value, '$.zone') AS zone,
         json_extract(value, '$.rank') AS rank, json_extract(value, '$.step') AS step,
         json_extract(value, '$.cores') AS cores, json_extract(value, '$.memory') AS memory_mib,
         json_extract(value, '$.pools') AS pools, json_extract(value, '$.disks') AS disks
  FROM json_each(?3)
),
unseen AS MATERIALIZED (
  SELECT host_id, cores, memory_mib, disks FROM reservations
  WHERE region = ?1 AND shown_from > ?9 AND key <> ?2
),
load AS MATERIALIZED (
  SELECT host_id, count(*) AS vms, sum(cores) AS cores, sum(memory_mib) AS memory_mib FROM unseen GROUP BY host_id
),
pool_load AS MATERIALIZED (
  SELECT host_id, d.key AS pool, sum(d.value) AS bytes FROM unseen, json_each(unseen.disks) AS d GROUP BY host_id, d.key
),
peer AS MATERIALIZED (
  SELECT zone, host_id, count(*) AS vms FROM reservations
  WHERE region = ?1 AND peer_group = ?5 AND peer_group <> '' AND state <> 'leaving' AND key <> ?2
  GROUP BY zone, host_id
),
zone_peer AS MATERIALIZED (SELECT zone, sum(vms) AS vms FROM peer GROUP BY zone),
host_peer AS MATERIALIZED (SELECT host_id, sum(vms) AS vms FROM peer GROUP BY host_id),
failed AS MATERIALIZED (
  SELECT value AS host_id FROM json_each(?4)
  UNION SELECT f.value FROM reservations AS r, json_each(r.excluded) AS f WHERE r.region = ?1 AND r.key = ?2
),
best AS (
  SELECT c.host_id, c.zone, c.disks FROM candidate AS c
  LEFT JOIN load ON load.host_id = c.host_id
  LEFT JOIN zone_peer ON zone_peer.zone = c.zone
  LEFT JOIN host_peer ON host_peer.host_id = c.host_id
  WHERE EXISTS (SELECT 1 FROM tag WHERE generation = ?8 AND sequence >= ?9)
    AND c.host_id NOT IN (SELECT host_id FROM failed)
    AND c.cores - coalesce(load.cores, 0) >= ?6
    AND c.memory_mib - coalesce(load.memory_mib, 0) >= ?7
    AND NOT EXISTS (
      SELECT 1 FROM json_each(c.disks) AS d
      LEFT JOIN json_each(c.pools) AS p ON p.key = d.key
      LEFT JOIN pool_load AS l ON l.host_id = c.host_id AND l.pool = d.key
      WHERE coalesce(p.value, -1) - coalesce(l.bytes, 0) < d.value)
  ORDER BY coalesce(zone_peer.vms, 0), coalesce(host_peer.vms, 0), c.rank + c.step * coalesce(load.vms, 0), c.host_id
  LIMIT 1
)`

// place and move go on with the parameters of best:
//
//	?10 name, or the attempt  ?11 milliseconds  ?12 token  ?13 never
const (
	place = best + `
INSERT INTO reservations (region, key, name, host_id, zone, peer_group, cores, memory_mib, disks,
  attempt, excluded, state, system_id, since_ms, token, shown_from)
SELECT ?1, ?2, ?10, host_id, zone, ?5, ?6, ?7, disks, 1, ?4, 'pending', '', ?11, ?12, ?13
FROM best WHERE true
ON CONFLICT (region, key) DO NOTHING`

	move = best + `
UPDATE reservations SET host_id = best.host_id, zone = best.zone, peer_group = ?5,
  cores = ?6, memory_mib = ?7, disks = best.disks, attempt = ?10,
  excluded = (SELECT json_group_array(host_id) FROM (SELECT host_id FROM failed ORDER BY host_id)),
  state = 'pending', system_id = '', since_ms = ?11, token = ?12, shown_from = ?13
FROM best
WHERE region = ?1 AND key = ?2 AND attempt < ?10 AND state <> 'leaving'`
)

// Place implements engine.Ledger.
func (l *Ledger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	token := newToken()
	if err := l.send(ctx, place, r, r.Name, token); err != nil {
		return engine.Row{}, false, fmt.Errorf("cannot reserve room for %s: %w", r.Name, err)
	}
	row, owner, err := l.find(ctx, r.Key)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Row{}, false, l.refusal(ctx, r, r.Exclude)
	}
	return row, err == nil && owner == token, err
}

// Move implements engine.Ledger.
func (l *Ledger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	token := newToken()
	if err := l.send(ctx, move, r, attempt, token); err != nil {
		return engine.Row{}, false, fmt.Errorf("cannot move the reservation of %s: %w", r.Name, err)
	}
	row, owner, err := l.find(ctx, r.Key)
	switch {
	case err != nil:
		return engine.Row{}, false, err
	case row.State == engine.RowLeaving:
		return engine.Row{}, false, fmt.Errorf("%s is being deleted: %w", r.Name, engine.ErrBusy)
	case row.Attempt < attempt:
		return engine.Row{}, false, l.refusal(ctx, r, slices.Concat(r.Exclude, row.Excluded))
	}
	return row, owner == token, nil
}

func (l *Ledger) send(ctx context.Context, statement string, r engine.Reservation, nameOrAttempt any, token string) error {
	if r.Need.Cores < 0 || r.Need.MemoryMiB < 0 {
		return fmt.Errorf("a VM needs no %d cores and %d MiB: %w", r.Need.Cores, r.Need.MemoryMiB, engine.ErrInvalid)
	}
	if r.Inventory.Generation == "" {
		return fmt.Errorf("the inventory of the hosts carries no tag of the ledger: %w", engine.ErrInvalid)
	}
	candidates := make([]wireCandidate, len(r.Candidates))
	for n, c := range r.Candidates {
		candidates[n] = wireCandidate{
			Host: c.HostID, Zone: c.Zone, Rank: c.Rank, Step: c.Step, Cores: c.Free.Cores, Memory: c.Free.MemoryMiB,
			Pools: orEmpty(c.Free.DiskBytes), Disks: onHost(r.Need, c),
		}
	}
	return l.store.exec(ctx, statement, l.region, r.Key, list(candidates), list(r.Exclude), r.Group,
		r.Need.Cores, r.Need.MemoryMiB, r.Inventory.Generation, r.Inventory.Sequence,
		nameOrAttempt, l.now().UnixMilli(), token, never)
}

func orEmpty(pools map[string]int64) map[string]int64 {
	if pools == nil {
		return map[string]int64{}
	}
	return pools
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
func (l *Ledger) refusal(ctx context.Context, r engine.Reservation, excluded []int) error {
	tag, err := l.Tag(ctx)
	switch {
	case err != nil:
		return err
	case tag.Generation != r.Inventory.Generation, tag.Sequence < r.Inventory.Sequence:
		return fmt.Errorf("the inventory of the hosts is older than the ledger, which is another one now: %w", engine.ErrBusy)
	}
	left := slices.DeleteFunc(slices.Clone(r.Candidates), func(c engine.Candidate) bool {
		return slices.Contains(excluded, c.HostID)
	})
	if slices.ContainsFunc(left, func(c engine.Candidate) bool { return fits(r.Need, c) }) {
		return fmt.Errorf("the room that %s needs is taken by VMs that are being made or deleted: %w", r.Name, engine.ErrBusy)
	}
	message := fmt.Sprintf("no VM host has room for %s", r.Name)
	if n := len(r.Candidates) - len(left); n > 0 {
		message += fmt.Sprintf(", without the %d on which it failed before", n)
	}
	return &engine.Error{
		Type: engine.InsufficientResources, Message: message,
		Hint: "Make the VM smaller, remove others, or add a VM host.",
	}
}

// fits compares a need with what the inventory alone says.
func fits(need engine.Need, c engine.Candidate) bool {
	for pool, bytes := range onHost(need, c) {
		if free, ok := c.Free.DiskBytes[pool]; !ok || free < bytes {
			return false
		}
	}
	return need.Cores <= c.Free.Cores && need.MemoryMiB <= c.Free.MemoryMiB
}
