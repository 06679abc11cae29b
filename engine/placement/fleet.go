package placement

import "slices"

// Fleet is a set of hosts on which VMs are placed one after the other: each
// placement takes its room, and counts in its group, for the next ones. It
// must not be used by two goroutines at once.
type Fleet struct {
	hosts  []host
	zones  int
	groups map[string]*members
}

// host is a Host with what changes, or would have to be found again for each
// VM, beside it.
type host struct {
	*Host
	index, zone int // positions in members
	hash        uint64

	// What VMs together may hold, the largest VM, and what is free.
	capCores, capMemoryMiB         int64
	mostCores, mostMemoryMiB       int64
	freeCores, freeMemoryMiB       int64
	capHugePagesMiB, freeHugePages int64
	pools                          []pool
}

type pool struct {
	StoragePool
	isDefault bool // at most one pool of a host is
}

// members counts the VMs of one group.
type members struct{ onHost, inZone []int }

// NewFleet returns a fleet of the hosts. They are not changed, and must not be
// while the fleet is in use.
func NewFleet(hosts []Host) *Fleet {
	f := &Fleet{hosts: make([]host, len(hosts)), groups: map[string]*members{}}
	zones := map[string]int{}
	for i := range hosts {
		zone, ok := zones[hosts[i].Zone]
		if !ok {
			zone = len(zones)
			zones[hosts[i].Zone] = zone
		}
		h := newHost(&hosts[i])
		h.index, h.zone = i, zone
		f.hosts[i] = h
	}
	f.zones = len(zones)
	return f
}

func newHost(h *Host) host {
	n := host{
		Host: h, hash: hash(h.ID),
		capCores:        h.Cores.capacity(h.CPUOvercommit),
		capMemoryMiB:    h.MemoryMiB.capacity(h.MemoryOvercommit),
		capHugePagesMiB: max(0, h.HugePagesMiB.Total),
	}
	n.mostCores = min(n.capCores, h.Cores.Total)
	n.mostMemoryMiB = min(n.capMemoryMiB, h.MemoryMiB.Total)
	n.freeCores = h.Cores.free(n.capCores)
	n.freeMemoryMiB = h.MemoryMiB.free(n.capMemoryMiB)
	n.freeHugePages = h.HugePagesMiB.free(n.capHugePagesMiB)
	n.pools = make([]pool, len(h.StoragePools))
	first := slices.IndexFunc(h.StoragePools, func(p StoragePool) bool { return p.Default })
	for i, p := range h.StoragePools {
		p.FreeBytes = max(0, p.FreeBytes)
		n.pools[i] = pool{StoragePool: p, isDefault: i == first}
	}
	return n
}

// Place returns the best host for the need and takes the room there. Errors
// are those of Fit, and then nothing is taken.
func (f *Fleet) Place(need Need) (Candidate, error) {
	r, err := need.request()
	if err != nil {
		return Candidate{}, err
	}
	r.members = f.membersOf(need.Group)
	return f.place(&r)
}

func (f *Fleet) place(r *request) (Candidate, error) {
	var best score
	for i := range f.hosts {
		h := &f.hosts[i]
		// The group decides against most hosts, and is quickly asked.
		if best.host != nil && r.crowd(h).compare(best.crowd) > 0 || !h.fits(r) {
			continue
		}
		if s := h.score(r); best.host == nil || s.compare(best) < 0 {
			best = s
		}
	}
	if best.host == nil {
		return Candidate{}, f.fitError(r)
	}
	c := best.candidate(r)
	best.host.take(r)
	return c, nil
}

// Fit returns every host on which the need fits, the best one first, with
// what is free there by now. It takes nothing. Errors are those of the
// function Fit.
func (f *Fleet) Fit(need Need) ([]Candidate, error) {
	r, err := need.request()
	if err != nil {
		return nil, err
	}
	r.members = f.membersOf(need.Group)
	var scores []score
	for i := range f.hosts {
		if h := &f.hosts[i]; h.fits(&r) {
			scores = append(scores, h.score(&r))
		}
	}
	if len(scores) == 0 {
		return nil, f.fitError(&r)
	}
	slices.SortFunc(scores, score.compare)
	candidates := make([]Candidate, len(scores))
	for i, s := range scores {
		candidates[i] = s.candidate(&r)
	}
	return candidates, nil
}

// take gives the need its room on the host.
func (h *host) take(r *request) {
	h.freeCores -= r.cores
	h.freeMemoryMiB -= r.MemoryMiB
	if r.HugePages {
		h.freeHugePages -= r.MemoryMiB
	}
	for i := range h.pools {
		h.pools[i].FreeBytes -= h.pools[i].takes(r) * bytesPerGB
	}
	if r.members != nil {
		r.members.onHost[h.index]++
		r.members.inZone[h.zone]++
	}
}

// membersOf returns the counts of a group, nil if there is none.
func (f *Fleet) membersOf(group string) *members {
	if group == "" {
		return nil
	}
	m, ok := f.groups[group]
	if !ok {
		m = f.noMembers()
		for i, h := range f.hosts {
			m.onHost[i] = h.Groups[group]
			m.inZone[h.zone] += h.Groups[group]
		}
		f.groups[group] = m
	}
	return m
}

func (f *Fleet) noMembers() *members {
	return &members{onHost: make([]int, len(f.hosts)), inZone: make([]int, f.zones)}
}
