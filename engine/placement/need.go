package placement

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
)

// Strategy says how to choose among the hosts that fit.
type Strategy string

// The strategies.
const (
	// Spread takes the host that is the least full with the VM on it.
	Spread Strategy = "spread"
	// Pack takes the host that is the fullest with the VM on it.
	Pack Strategy = "pack"
)

// Need is what a VM needs of its host. An empty string or list means no demand.
type Need struct {
	// Key is the VM's stable name. It only decides between equal hosts.
	Key string

	Type     string // empty: TypeLXD
	Zone     string
	Pool     string   // resource pool
	Tags     []string // the host must carry all of them
	Project  string
	Profile  string
	Networks []string
	// Architectures are those that suit the VM, each like "amd64", or "amd64/generic".
	Architectures []string
	// Image is the name of the image that MAAS has for Architectures only. It is for people.
	Image string

	// Cores is the number of virtual CPUs, at least 1. With PinnedCores it is ignored, and may
	// be 0.
	Cores int
	// PinnedCores are numbers of the host's cores, from 0. As many cores count as used. Several
	// VMs may be pinned to one core: MAAS and LXD allow it.
	PinnedCores []int
	MemoryMiB   int64
	HugePages   bool // back the memory with huge pages
	Disks       []Disk

	Strategy Strategy // empty: Spread
	// Excluded are the ids of hosts to skip, such as those on which an earlier attempt failed.
	Excluded []string
}

// Disk is a disk of a VM.
type Disk struct {
	SizeGB int64  // decimal: 1 GB = 1000000000 bytes
	Pool   string // storage pool of the host; empty: the host's default pool
}

// NeedError says that a need is invalid on every host. Field is the wrong part, as users spell
// it.
type NeedError struct{ Field, Message string }

func (e *NeedError) Error() string { return e.Field + ": " + e.Message }

// request is a need, prepared for the look at many hosts.
type request struct {
	Need
	cores             int64 // pinned or not
	highestPinnedCore int   // highest number of a pinned core, -1 if none is pinned
	demands           []poolDemand
	hash              uint64
}

// poolDemand is what the disks take from one storage pool.
type poolDemand struct {
	pool   string // empty: the host's default pool
	sizeGB int64
}

func (n Need) request() (request, error) {
	if err := n.validate(); err != nil {
		return request{}, err
	}
	if n.Type == "" {
		n.Type = TypeLXD
	}
	r := request{Need: n, cores: int64(n.Cores), highestPinnedCore: -1, hash: hashOf(n.Key)}
	if len(n.PinnedCores) > 0 {
		r.cores, r.highestPinnedCore = int64(len(n.PinnedCores)), slices.Max(n.PinnedCores)
	}
	for _, d := range n.Disks {
		i := slices.IndexFunc(r.demands, func(drawn poolDemand) bool { return drawn.pool == d.Pool })
		if i < 0 {
			r.demands = append(r.demands, poolDemand{pool: d.Pool, sizeGB: d.SizeGB})
			continue
		}
		r.demands[i].sizeGB = addSaturated(r.demands[i].sizeGB, d.SizeGB)
	}
	return r, nil
}

func (n Need) validate() error {
	switch {
	case len(n.PinnedCores) == 0 && n.Cores < 1:
		return &NeedError{"cores", fmt.Sprintf("%d is too few: a VM needs at least 1", n.Cores)}
	case n.MemoryMiB < 1:
		return &NeedError{"memory_mib", fmt.Sprintf("%d MiB is too little", n.MemoryMiB)}
	case n.Strategy != "" && n.Strategy != Spread && n.Strategy != Pack:
		return &NeedError{"strategy", fmt.Sprintf("%q is unknown: use %q or %q", n.Strategy, Spread, Pack)}
	}
	for i, core := range n.PinnedCores {
		if core < 0 || slices.Contains(n.PinnedCores[:i], core) {
			return &NeedError{"pinned_cores", fmt.Sprintf("%d is negative or given twice: name each core once, from 0", core)}
		}
	}
	for _, d := range n.Disks {
		if d.SizeGB < 1 {
			return &NeedError{"disks", fmt.Sprintf("a disk of %d GB makes no sense: give at least 1", d.SizeGB)}
		}
	}
	return nil
}

// addSaturated adds sizes that are not negative. A sum that overflows stays at the maximum and
// fits nowhere.
func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s)) //nolint:errcheck // never fails
	return h.Sum64()
}
