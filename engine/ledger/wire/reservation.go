package wire

import (
	"fmt"
	"math"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// Reservation is an engine.Reservation with its candidates as columns. There may be thousands of
// candidates. As objects, the names of their fields would be most of the text.
type Reservation struct {
	engine.Reservation // without its Candidates

	Columns Columns
}

// Columns holds candidates: the first candidate has the first value of each column, and so on. A
// column whose values are all equal is sent as one value. The columns of storage pools are
// always sent in full. Otherwise a few bytes could stand for many hosts with many pools each.
type Columns struct {
	HostKeys, Zones, DefaultPools         []string
	Ranks, Steps                          []int64
	FreeCores, FreeMemoryMiB, FreeHugeMiB []int64
	FreeDiskBytes                         map[string][]int64 // by storage pool; noPool: the host lacks the pool
}

const noPool = math.MinInt64

// ToColumns converts a reservation to its form with columns.
func ToColumns(r engine.Reservation) *Reservation {
	c := Columns{FreeDiskBytes: map[string][]int64{}}
	for n, from := range r.Candidates {
		c.HostKeys, c.Zones, c.DefaultPools = append(c.HostKeys, from.HostKey), append(c.Zones, from.Zone), append(c.DefaultPools, from.DefaultPool)
		c.Ranks, c.Steps = append(c.Ranks, from.Rank), append(c.Steps, from.Step)
		c.FreeCores, c.FreeMemoryMiB = append(c.FreeCores, from.Free.Cores), append(c.FreeMemoryMiB, from.Free.MemoryMiB)
		c.FreeHugeMiB = append(c.FreeHugeMiB, from.Free.HugePagesMiB)
		for pool, bytes := range from.Free.DiskBytes {
			if c.FreeDiskBytes[pool] == nil {
				c.FreeDiskBytes[pool] = emptyPoolColumn(len(r.Candidates))
			}
			c.FreeDiskBytes[pool][n] = bytes
		}
	}
	r.Candidates = nil
	c.Zones, c.DefaultPools, c.Ranks, c.Steps = collapseColumn(c.Zones), collapseColumn(c.DefaultPools), collapseColumn(c.Ranks), collapseColumn(c.Steps)
	c.FreeCores, c.FreeMemoryMiB, c.FreeHugeMiB = collapseColumn(c.FreeCores), collapseColumn(c.FreeMemoryMiB), collapseColumn(c.FreeHugeMiB)
	return &Reservation{r, c}
}

// collapseColumn keeps one value of a column whose values are all equal.
func collapseColumn[T comparable](column []T) []T {
	for _, value := range column {
		if value != column[0] {
			return column
		}
	}
	return column[:min(1, len(column))]
}

// expandColumn undoes collapseColumn for a number of hosts.
func expandColumn[T any](column []T, hosts int) []T {
	if len(column) == 1 && hosts > 1 {
		return slices.Repeat(column, hosts)
	}
	return column
}

// emptyPoolColumn returns the column of a storage pool that no host has.
func emptyPoolColumn(hosts int) []int64 {
	column := make([]int64, hosts)
	for n := range column {
		column[n] = noPool
	}
	return column
}

// FromColumns undoes ToColumns. Columns of different lengths are an ErrInvalid.
func (r *Reservation) FromColumns() (engine.Reservation, error) {
	whole, c, hosts := r.Reservation, r.Columns, len(r.Columns.HostKeys)
	c.Zones, c.DefaultPools, c.Ranks, c.Steps = expandColumn(c.Zones, hosts), expandColumn(c.DefaultPools, hosts), expandColumn(c.Ranks, hosts), expandColumn(c.Steps, hosts)
	c.FreeCores, c.FreeMemoryMiB, c.FreeHugeMiB = expandColumn(c.FreeCores, hosts), expandColumn(c.FreeMemoryMiB, hosts), expandColumn(c.FreeHugeMiB, hosts)
	lengths := []int{len(c.Zones), len(c.DefaultPools), len(c.Ranks), len(c.Steps), len(c.FreeCores), len(c.FreeMemoryMiB), len(c.FreeHugeMiB)}
	for _, column := range c.FreeDiskBytes {
		lengths = append(lengths, len(column))
	}
	for _, length := range lengths {
		if length != len(c.HostKeys) {
			return whole, fmt.Errorf("the candidates of %s are incomplete: %w", whole.Name, engine.ErrInvalid)
		}
	}
	whole.Candidates = make([]engine.Candidate, 0, len(c.HostKeys))
	for n, host := range c.HostKeys {
		disks := map[string]int64{}
		for pool, column := range c.FreeDiskBytes {
			if column[n] != noPool {
				disks[pool] = column[n]
			}
		}
		whole.Candidates = append(whole.Candidates, engine.Candidate{
			HostKey: host, Zone: c.Zones[n], DefaultPool: c.DefaultPools[n], Rank: c.Ranks[n], Step: c.Steps[n],
			Free: engine.Need{Cores: c.FreeCores[n], MemoryMiB: c.FreeMemoryMiB[n], HugePagesMiB: c.FreeHugeMiB[n], DiskBytes: disks},
		})
	}
	return whole, nil
}
