package assembly_test

import (
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// visibilityDelay is the age at which every engine knows what MAAS shows. An inventory is read
// for up to a minute and a half, and kept for a while.
const visibilityDelay = 3 * time.Minute

// checkOverCommit checks a newborn's host against all that the one who placed it
// could know of.
func (w *observer) checkOverCommit(n *observedInstance) {
	if n.compose == nil {
		return
	}
	var (
		host      sim.HostModel
		cores     int
		memoryMiB int64
		bytes     = map[string]int64{}
		counted   []string
	)
	for _, h := range w.s.model.Hosts {
		if h.Name == n.Host {
			host = h
		}
	}
	for _, b := range w.instances {
		if b.gone || b.Host != n.Host || b != n && !w.mustCount(b, n.compose) {
			continue
		}
		cores += b.Cores
		memoryMiB += b.MemoryMiB
		disks := map[string]int64{"default": 8e9} // an operator's
		if b.compose != nil {
			disks = b.compose.bytes
		}
		for pool, size := range disks {
			bytes[pool] += size
		}
		counted = append(counted, fmt.Sprintf("%s (%s)", b.Name, b.key()))
	}
	over := cores > host.Cores || memoryMiB > host.MemoryMiB
	for _, p := range host.StoragePools {
		over = over || n.compose.bytes[p.Name] > 0 && bytes[p.Name] > p.SizeGB*1e9
	}
	if over {
		w.figures.overCommits++
		w.s.failSchedule("%s is over-committed by %s: %d of %d cores, %d of %d MiB, bytes %v of %+v, by %v",
			host.Name, n.Name, cores, host.Cores, memoryMiB, host.MemoryMiB, bytes, host.StoragePools, counted)
	}
}

// mustCount reports whether the owner who reserved room for a compose had to know of an
// instance. Either the instance is in the same ledger and not lost, or MAAS has shown it for
// long enough.
func (w *observer) mustCount(b *observedInstance, a *composeCall) bool {
	if o := b.compose; o != nil && b.lost.IsZero() && o.life.owner.ledger == a.life.owner.ledger && o.life.edition == a.life.edition {
		adopted := !o.to.IsZero() && b.visible.After(o.to)
		if !adopted && (o.to.IsZero() || !b.visible.IsZero()) {
			return true
		}
	}
	return !b.visible.IsZero() && b.visible.Before(a.placed.Add(-visibilityDelay))
}
