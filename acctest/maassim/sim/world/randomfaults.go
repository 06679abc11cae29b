package world

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// RandomFaults is how often things go wrong by chance: see RandomFaults of package sim.
type RandomFaults struct {
	ErrorBefore, ErrorAfter      float64
	Reset, LostReply             float64
	Delay                        float64
	MaxDelay                     time.Duration
	LeakCompose, LeakComposeLost float64
	LateCompose                  float64
	MaxLate                      time.Duration
	LeakDelete                   float64
	SyncInCompose                float64
	SyncOverCompose              float64
	SyncEvery                    time.Duration
	RandomNames                  float64
	Overcommit                   bool
}

// SharesByName maps the names of the JSON fields to the shares. Faults are counted by
// these names.
func (n *RandomFaults) SharesByName() map[string]*float64 {
	return map[string]*float64{
		"error_before": &n.ErrorBefore, "error_after": &n.ErrorAfter, "reset": &n.Reset, "lost_reply": &n.LostReply,
		"delay": &n.Delay, "leak_compose": &n.LeakCompose, "leak_compose_lost": &n.LeakComposeLost,
		"late_compose": &n.LateCompose, "leak_delete": &n.LeakDelete, "sync_in_compose": &n.SyncInCompose,
		"sync_over_compose": &n.SyncOverCompose, "random_names": &n.RandomNames,
	}
}

// DurationsByName maps the names in files to the durations.
func (n *RandomFaults) DurationsByName() map[string]*time.Duration {
	return map[string]*time.Duration{"max_delay": &n.MaxDelay, "max_late": &n.MaxLate, "sync_every": &n.SyncEvery}
}

// RandomFaultSource decides when a random fault happens.
type RandomFaultSource struct {
	RandomFaults
	seed       int64
	drawCounts map[string]int // by kind and object: the number of draws
	Struck     map[string]int // by kind
}

// NewRandomFaultSource starts with all counts at zero.
func NewRandomFaultSource(n RandomFaults, seed int64) *RandomFaultSource {
	return &RandomFaultSource{RandomFaults: n, seed: seed, drawCounts: map[string]int{}, Struck: map[string]int{}}
}

// Draw is the next random number from 0 to 1 for an object.
func (n *RandomFaultSource) Draw(thing string) float64 {
	n.drawCounts[thing]++
	h := fnv.New64a()
	_, _ = io.WriteString(h, thing+" "+strconv.Itoa(n.drawCounts[thing])) // a hash accepts all bytes
	return rand.New(rand.NewPCG(uint64(n.seed), h.Sum64())).Float64()
}

// DrawFault decides whether a fault of a kind hits an object, and counts it.
func (n *RandomFaultSource) DrawFault(kind, object string) bool {
	share := *n.SharesByName()[kind]
	if share == 0 || n.Draw(kind+" "+object) >= share {
		return false
	}
	n.Struck[kind]++
	return true
}
