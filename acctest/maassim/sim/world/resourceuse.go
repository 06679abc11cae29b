package world

// ResourceUse is what all instances of an LXD hold, in all its projects, whether MAAS
// knows them or not.
type ResourceUse struct {
	Cores     int
	MemoryMiB int64
	// HugePagesMiB is the memory in huge pages of all VMs that use them, also of those
	// that are off.
	HugePagesMiB int64
	PoolBytes    map[string]int64 // by storage pool
}

// CurrentUse is the present use.
func (l *LXD) CurrentUse() ResourceUse {
	u := ResourceUse{PoolBytes: map[string]int64{}}
	for _, project := range l.Projects {
		for _, i := range project {
			u.Cores += i.Cores
			u.MemoryMiB += i.MemoryMiB
			u.HugePagesMiB += i.HugePagesMiB()
			for _, v := range i.Disks {
				u.PoolBytes[v.Pool] += v.SizeBytes
			}
		}
	}
	return u
}

// MeasureUse records the greatest use, and any excess over the limits, after an instance
// was added.
func (w *World) MeasureUse(l *LXD) {
	now := l.CurrentUse()
	l.Peak.Cores, l.Peak.MemoryMiB = max(l.Peak.Cores, now.Cores), max(l.Peak.MemoryMiB, now.MemoryMiB)
	l.Peak.HugePagesMiB = max(l.Peak.HugePagesMiB, now.HugePagesMiB)
	if l.Peak.PoolBytes == nil {
		l.Peak.PoolBytes, l.ExcessByResource = map[string]int64{}, map[string]Excess{}
	}
	for pool, held := range now.PoolBytes {
		l.Peak.PoolBytes[pool] = max(l.Peak.PoolBytes[pool], held)
	}
	cpu, memory := overcommitRatios(w, l)
	noteExcess(l, "cores", int64(now.Cores), int64(float64(l.Cores)*cpu))
	noteExcess(l, "MiB of memory", now.MemoryMiB, int64(float64(l.MemoryMiB)*memory))
	if l.HugePagesMiB > 0 {
		noteExcess(l, "MiB of huge pages", now.HugePagesMiB, l.HugePagesMiB)
	}
	for _, p := range l.Pools {
		noteExcess(l, "bytes of pool "+p.Name, now.PoolBytes[p.Name], p.SizeBytes)
	}
}

// overcommitRatios are the greatest over-commit ratios of the VM hosts on an LXD. They are
// 1 without a VM host.
func overcommitRatios(w *World, l *LXD) (cpu, memory float64) {
	for _, h := range w.Hosts {
		if h.Server() == l {
			cpu, memory = max(cpu, h.CPURatio), max(memory, h.MemRatio)
		}
	}
	if cpu == 0 && memory == 0 {
		return 1, 1
	}
	return cpu, memory
}

// Excess is a use above the limit.
type Excess struct{ Held, Allowed int64 }

func noteExcess(l *LXD, what string, held, allowed int64) {
	if held > allowed && held-allowed > l.ExcessByResource[what].Held-l.ExcessByResource[what].Allowed {
		l.ExcessByResource[what] = Excess{held, allowed}
	}
}
