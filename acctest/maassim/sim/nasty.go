package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"time"
)

// Nasty is how much goes wrong without being asked for call by call. Shares are
// probabilities from 0 to 1; the zero value is a MAAS at its best.
//
// What strikes depends on the model's seed, on what is struck (the route with
// the names in it) and on how often that was at risk before, but not on the
// order in which different things happen: a run can be repeated as far as its
// goroutines do the same to each object in the same order.
type Nasty struct {
	// ErrorBefore is the share of calls that are answered 503 and do nothing,
	// ErrorAfter of those that are answered 503 and have done what they should.
	ErrorBefore float64 `json:"error_before,omitempty"`
	ErrorAfter  float64 `json:"error_after,omitempty"`
	// Reset is the share of calls whose connection is reset before they do
	// anything, LostReply of those whose reply is lost.
	Reset     float64 `json:"reset,omitempty"`
	LostReply float64 `json:"lost_reply,omitempty"`
	// Delay is the share of calls that wait first, for up to MaxDelay; a
	// second if that is zero.
	Delay    float64       `json:"delay,omitempty"`
	MaxDelay time.Duration `json:"-"`
	// LeakCompose is the share of composes that are answered 503 after LXD made
	// the instance, which MAAS then does not know; of LeakComposeLost the reply
	// is lost as well.
	LeakCompose     float64 `json:"leak_compose,omitempty"`
	LeakComposeLost float64 `json:"leak_compose_lost,omitempty"`
	// LateCompose is the share of composes that LXD takes longer for, by up to
	// MaxLate: the 120 s that MAAS waits if that is zero. MAAS goes on when the
	// caller has gone.
	LateCompose float64       `json:"late_compose,omitempty"`
	MaxLate     time.Duration `json:"-"`
	// LeakDelete is the share of deletes of VMs that are answered 204 and leave
	// the instance.
	LeakDelete float64 `json:"leak_delete,omitempty"`
	// SyncInCompose is the share of composes inside which a refresh ends: it
	// adopts the newborn, and the compose is told that the name is taken.
	SyncInCompose float64 `json:"sync_in_compose,omitempty"`
	// SyncOverCompose is the share of composes that are over before the UI's
	// refresh is, which had listed the instances before: the newborn is
	// removed. Its instance goes too, unless its start is in flight.
	SyncOverCompose float64 `json:"sync_over_compose,omitempty"`
	// SyncEvery is the mean time between refreshes of a VM host that somebody
	// else asks for, through the API or the UI. Zero: nobody does.
	SyncEvery time.Duration `json:"-"`
	// RandomNames is the share of adopted instances whose machine gets a random
	// name, though theirs is free.
	RandomNames float64 `json:"random_names,omitempty"`
	// Overcommit lets MAAS compose beyond the ratios of its VM hosts and the
	// room of their storage pools, so that it is the client alone that keeps to
	// them. Flag: -over-commit.
	Overcommit bool `json:"overcommit,omitempty"`
}

// AllNasty is everything at once, each with the same share, and a refresh every
// ten seconds, but for over-commitment. A share of zero is nothing. Flag:
// -nasty.
func AllNasty(share float64) Nasty {
	if share == 0 {
		return Nasty{}
	}
	return Nasty{
		ErrorBefore: share, ErrorAfter: share, Reset: share, LostReply: share, Delay: share,
		LeakCompose: share, LeakComposeLost: share, LateCompose: share, LeakDelete: share,
		SyncInCompose: share, SyncOverCompose: share, SyncEvery: 10 * time.Second, RandomNames: share,
	}
}

// shares gives the shares the names by which they are counted: those of the
// JSON fields.
func (n *Nasty) shares() map[string]*float64 {
	return map[string]*float64{
		"error_before": &n.ErrorBefore, "error_after": &n.ErrorAfter, "reset": &n.Reset, "lost_reply": &n.LostReply,
		"delay": &n.Delay, "leak_compose": &n.LeakCompose, "leak_compose_lost": &n.LeakComposeLost,
		"late_compose": &n.LateCompose, "leak_delete": &n.LeakDelete, "sync_in_compose": &n.SyncInCompose,
		"sync_over_compose": &n.SyncOverCompose, "random_names": &n.RandomNames,
	}
}

func (n *Nasty) durations() map[string]*time.Duration {
	return map[string]*time.Duration{"max_delay": &n.MaxDelay, "max_late": &n.MaxLate, "sync_every": &n.SyncEvery}
}

// check names the field that is wrong.
func (n Nasty) check() error {
	for name, share := range n.shares() {
		if !(*share >= 0 && *share <= 1) {
			return fmt.Errorf("nasty.%s: %v is not between 0 and 1", name, *share)
		}
	}
	for name, d := range n.durations() {
		if *d < 0 {
			return fmt.Errorf("nasty.%s: %v is negative", name, *d)
		}
	}
	return nil
}

type nastyFields Nasty

type nastyFile struct {
	nastyFields
	MaxDelay  string `json:"max_delay,omitempty"`
	MaxLate   string `json:"max_late,omitempty"`
	SyncEvery string `json:"sync_every,omitempty"`
}

func (f *nastyFile) texts() map[string]*string {
	return map[string]*string{"max_delay": &f.MaxDelay, "max_late": &f.MaxLate, "sync_every": &f.SyncEvery}
}

// MarshalJSON writes times as texts.
func (n Nasty) MarshalJSON() ([]byte, error) {
	file := nastyFile{nastyFields: nastyFields(n)}
	for name, d := range n.durations() {
		if *d != 0 {
			*file.texts()[name] = d.String()
		}
	}
	return json.Marshal(file)
}

// UnmarshalJSON reads times from texts and refuses fields that it does not
// know.
func (n *Nasty) UnmarshalJSON(data []byte) error {
	var file nastyFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return fmt.Errorf("nasty: %w", err)
	}
	*n = Nasty(file.nastyFields)
	for name, text := range file.texts() {
		if *text == "" {
			continue
		}
		parsed, err := time.ParseDuration(*text)
		if err != nil {
			return fmt.Errorf("nasty.%s: %w", name, err)
		}
		*n.durations()[name] = parsed
	}
	return nil
}

// nastiness is a Nasty at work.
type nastiness struct {
	Nasty
	seed   int64
	seen   map[string]int // by kind and object: how often it was at risk
	struck map[string]int // by kind
}

func newNastiness(n Nasty, seed int64) *nastiness {
	return &nastiness{Nasty: n, seed: seed, seen: map[string]int{}, struck: map[string]int{}}
}

// draw is the next number from 0 to 1 for a thing.
func (n *nastiness) draw(thing string) float64 {
	n.seen[thing]++
	h := fnv.New64a()
	_, _ = io.WriteString(h, thing+" "+itoa(n.seen[thing])) // a hash takes all
	return rand.New(rand.NewPCG(uint64(n.seed), h.Sum64())).Float64()
}

// strikes decides about one thing, by kind, and counts.
func (n *nastiness) strikes(kind, object string) bool {
	share := *n.shares()[kind]
	if share == 0 || n.draw(kind+" "+object) >= share {
		return false
	}
	n.struck[kind]++
	return true
}

// plan adds what strikes a call to what faults do.
func (n *nastiness) plan(c *call, p *callPlan) {
	if c.pattern == "" {
		return
	}
	object := c.thing()
	if n.strikes("delay", object) {
		p.delay += time.Duration(float64(or(n.MaxDelay, time.Second)) * n.draw("delay of "+object))
	}
	status := Fault{Kind: FaultStatus, Status: http.StatusServiceUnavailable}
	for _, f := range []struct {
		kind  string
		to    **Fault
		fault Fault
	}{
		{"error_before", &p.before, status}, {"reset", &p.before, Fault{Kind: FaultReset}},
		{"error_after", &p.after, status}, {"lost_reply", &p.after, Fault{Kind: FaultLostReply}},
	} {
		if n.strikes(f.kind, object) && *f.to == nil {
			*f.to = &f.fault
		}
	}
}

// thing names what a call does to what: ids are made anew in each run and
// depend on the order of calls, names do not.
func (c *call) thing() string {
	name := c.vars["id"]
	if m := c.w.machines[name]; m != nil {
		name = m.hostname
	}
	return c.method + " " + c.pattern + " " + c.op + " " + name + " " + c.field("hostname")
}

// SetNasty changes how much goes wrong from now on. The error names the field
// that is wrong.
func (s *Sim) SetNasty(n Nasty) error {
	if err := n.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.world.nasty.Nasty
	s.world.nasty.Nasty = n
	if n.SyncEvery != old.SyncEvery {
		s.world.scheduleSync()
	}
	return nil
}

// Nasty is how much goes wrong.
func (s *Sim) Nasty() Nasty {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.world.nasty.Nasty
}

// NastyStruck counts what went wrong so far, by the names that the JSON of
// Nasty has; "sync_every" are the refreshes.
func (s *Sim) NastyStruck() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.world.nasty.struck)
}
