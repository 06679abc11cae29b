package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

const (
	// recoveryRegion holds the rows that are written while leaders are killed.
	recoveryRegion = "recovery"
	// votersTimeout is how long a restarted node may take to have a vote again.
	votersTimeout      = time.Minute
	votersPollInterval = 200 * time.Millisecond
)

// measureRecoveries kills the leader of three nodes several times. It measures
// the time until a client's next write is acknowledged.
func (b *bench) measureRecoveries(ctx context.Context) error {
	s, err := b.startService(ctx, "recovery", 3)
	if s != nil {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	clients, err := s.newClients()
	if err != nil {
		return err
	}
	var acknowledged []engine.Key
	for n := range b.kills {
		if err := s.awaitVoters(ctx); err != nil {
			return err
		}
		rows := clients[n%len(clients)].Region(recoveryRegion)
		k := leaderKill{service: s, rows: rows, name: fmt.Sprintf("kill-%d", n)}
		took, err := k.run(ctx)
		if err != nil {
			return fmt.Errorf("leader %d: %w", n+1, err)
		}
		b.logProgress("leader %d killed: the next write was acknowledged after %v", n+1, took.Round(time.Millisecond))
		b.recoveries, acknowledged = append(b.recoveries, took), append(acknowledged, k.acknowledged...)
	}
	b.lost, err = countMissingRows(ctx, clients[0].Region(recoveryRegion), acknowledged)
	return err
}

// leaderKill is one kill of the leader.
type leaderKill struct {
	*service
	rows         ledger.RegionLedger
	name         string
	acknowledged []engine.Key
}

// run writes, kills the leader, writes again, and restarts the node. It returns
// the time from the kill to the second acknowledgement.
func (k *leaderKill) run(ctx context.Context) (time.Duration, error) {
	tag, err := k.rows.CurrentTag(ctx)
	if err != nil {
		return 0, err
	}
	if err := k.write(ctx, tag, "before"); err != nil {
		return 0, err
	}
	leader, err := k.leader(ctx)
	if err != nil {
		return 0, err
	}
	dead := k.nodes[leader]
	began := time.Now()
	dead.process.Kill()
	if err := k.write(ctx, tag, "after"); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return took, dead.start(ctx)
}

// write reserves room, and stores that it was acknowledged.
func (k *leaderKill) write(ctx context.Context, tag engine.Tag, when string) error {
	r := reservationForKey(newReservation(tag), k.name+"-"+when)
	err := reserveFreshKey(ctx, k.rows, r)
	if err == nil {
		k.acknowledged = append(k.acknowledged, r.Key)
	}
	return err
}

// countMissingRows counts the keys that have no row.
func countMissingRows(ctx context.Context, rows ledger.RegionLedger, keys []engine.Key) (int, error) {
	lost := 0
	for _, key := range keys {
		_, err := rows.Row(ctx, key)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			lost++
		case err != nil:
			return lost, err
		}
	}
	return lost, nil
}

// awaitVoters waits until all nodes have a vote and one leads.
func (s *service) awaitVoters(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, votersTimeout)
	defer cancel()
	for {
		out, failed := exec.CommandContext(ctx, s.nodes[0].bin, "ledger", "cluster", "status", "--dir", s.nodes[0].dir).Output()
		if votes, leaders := parseVoters(string(out)); failed == nil && votes == len(s.nodes) && leaders == 1 {
			if _, failed = s.leader(ctx); failed == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the nodes do not all have a vote after %v: %w\n%s", votersTimeout, errors.Join(ctx.Err(), failed), out)
		case <-time.After(votersPollInterval):
		}
	}
}

// parseVoters reads the output of "ledger cluster status": NODE, VOTES and
// LEADS.
func parseVoters(status string) (votes, leaders int) {
	for line := range strings.Lines(status) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		if words[1] == "yes" {
			votes++
		}
		if words[2] == "yes" {
			leaders++
		}
	}
	return votes, leaders
}
