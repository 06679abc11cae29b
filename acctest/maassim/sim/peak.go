package sim

import (
	"fmt"
	"maps"
	"slices"
)

// Use is what the instances of an LXD hold, of all its projects, whether MAAS
// knows them or not.
type Use struct {
	Cores     int              `json:"cores"`
	MemoryMiB int64            `json:"memory_mib"`
	PoolBytes map[string]int64 `json:"pool_bytes"` // by storage pool
}

// use is what is held now.
func (l *lxdServer) use() Use {
	u := Use{PoolBytes: map[string]int64{}}
	for _, project := range l.projects {
		for _, i := range project {
			u.Cores += i.cores
			u.MemoryMiB += i.memoryMiB
			for _, v := range i.disks {
				u.PoolBytes[v.pool] += v.sizeBytes
			}
		}
	}
	return u
}

// measure notes the greatest use, and what of it is more than there is, after
// an instance was added.
func (w *world) measure(l *lxdServer) {
	now := l.use()
	l.peak.Cores, l.peak.MemoryMiB = max(l.peak.Cores, now.Cores), max(l.peak.MemoryMiB, now.MemoryMiB)
	if l.peak.PoolBytes == nil {
		l.peak.PoolBytes, l.over = map[string]int64{}, map[string]excess{}
	}
	for pool, held := range now.PoolBytes {
		l.peak.PoolBytes[pool] = max(l.peak.PoolBytes[pool], held)
	}
	cpu, memory := w.ratios(l)
	l.exceed("cores", int64(now.Cores), int64(float64(l.cores)*cpu))
	l.exceed("MiB of memory", now.MemoryMiB, int64(float64(l.memoryMiB)*memory))
	for _, p := range l.pools {
		l.exceed("bytes of pool "+p.Name, now.PoolBytes[p.Name], p.SizeBytes)
	}
}

// ratios are the greatest over-commit ratios of the VM hosts on an LXD, 1 where
// there is none.
func (w *world) ratios(l *lxdServer) (cpu, memory float64) {
	for _, h := range w.hosts {
		if h.server() == l {
			cpu, memory = max(cpu, h.cpuRatio), max(memory, h.memRatio)
		}
	}
	if cpu == 0 && memory == 0 {
		return 1, 1
	}
	return cpu, memory
}

// excess is more than there was.
type excess struct{ held, allowed int64 }

func (l *lxdServer) exceed(what string, held, allowed int64) {
	if held > allowed && held-allowed > l.over[what].held-l.over[what].allowed {
		l.over[what] = excess{held, allowed}
	}
}

// Overcommits says where the instances of an LXD ever held more at once than
// its size times the over-commit ratio of then, each at its worst: "host1: 20
// cores held of 16". Empty is what a test wants. Instances that a model or a
// test puts there count, too.
func (s *Sim) Overcommits() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{}
	for _, l := range slices.Concat(sorted(s.world.lxds), s.world.wiped) {
		for _, what := range slices.Sorted(maps.Keys(l.over)) {
			out = append(out, fmt.Sprintf("%s: %d %s held of %d", l.name, l.over[what].held, what, l.over[what].allowed))
		}
	}
	return out
}
