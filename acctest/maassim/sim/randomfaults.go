package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/hosts"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// RandomFaults is how much goes wrong without being asked for call by call. Shares are
// probabilities from 0 to 1; the zero value is a MAAS at its best.
//
// What strikes depends on the model's seed, on what is struck (the route with
// the names in it) and on how often that was at risk before, but not on the
// order in which different things happen: a run can be repeated as far as its
// goroutines do the same to each object in the same order.
type RandomFaults struct {
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

// AllRandomFaults is everything at once, each with the same share, and a refresh every
// ten seconds, but for over-commitment. A share of zero is nothing. Flag:
// -nasty.
func AllRandomFaults(share float64) RandomFaults {
	if share == 0 {
		return RandomFaults{}
	}
	return RandomFaults{
		ErrorBefore: share, ErrorAfter: share, Reset: share, LostReply: share, Delay: share,
		LeakCompose: share, LeakComposeLost: share, LateCompose: share, LeakDelete: share,
		SyncInCompose: share, SyncOverCompose: share, SyncEvery: 10 * time.Second, RandomNames: share,
	}
}

// check names the field that is wrong.
func (n RandomFaults) check() error {
	for name, share := range (*world.RandomFaults)(&n).SharesByName() {
		if !(*share >= 0 && *share <= 1) {
			return fmt.Errorf("nasty.%s: %v is not between 0 and 1", name, *share)
		}
	}
	for name, d := range (*world.RandomFaults)(&n).DurationsByName() {
		if *d < 0 {
			return fmt.Errorf("nasty.%s: %v is negative", name, *d)
		}
	}
	return nil
}

type randomFaultFields RandomFaults

type randomFaultFile struct {
	randomFaultFields
	MaxDelay  string `json:"max_delay,omitempty"`
	MaxLate   string `json:"max_late,omitempty"`
	SyncEvery string `json:"sync_every,omitempty"`
}

func (f *randomFaultFile) durationTexts() map[string]*string {
	return map[string]*string{"max_delay": &f.MaxDelay, "max_late": &f.MaxLate, "sync_every": &f.SyncEvery}
}

// MarshalJSON writes times as texts.
func (n RandomFaults) MarshalJSON() ([]byte, error) {
	file := randomFaultFile{randomFaultFields: randomFaultFields(n)}
	for name, d := range (*world.RandomFaults)(&n).DurationsByName() {
		if *d != 0 {
			*file.durationTexts()[name] = d.String()
		}
	}
	return json.Marshal(file)
}

// UnmarshalJSON reads times from texts and refuses fields that it does not
// know.
func (n *RandomFaults) UnmarshalJSON(data []byte) error {
	var file randomFaultFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return fmt.Errorf("nasty: %w", err)
	}
	*n = RandomFaults(file.randomFaultFields)
	for name, text := range file.durationTexts() {
		if *text == "" {
			continue
		}
		parsed, err := time.ParseDuration(*text)
		if err != nil {
			return fmt.Errorf("nasty.%s: %w", name, err)
		}
		*(*world.RandomFaults)(n).DurationsByName()[name] = parsed
	}
	return nil
}

// plan adds what strikes a call to what faults do.
func planRandomFaults(n *world.RandomFaultSource, c *request.Call, p *callPlan) {
	if c.Pattern == "" {
		return
	}
	object := riskedObject(c)
	if n.DrawFault("delay", object) {
		p.delay += time.Duration(float64(cmp.Or(n.MaxDelay, time.Second)) * n.Draw("delay of "+object))
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
		if n.DrawFault(f.kind, object) && *f.to == nil {
			*f.to = &f.fault
		}
	}
}

// riskedObject names what a call does to what: ids are made anew in each run and
// depend on the order of calls, names do not.
func riskedObject(c *request.Call) string {
	name := c.Vars["id"]
	if m := c.World.Machines[name]; m != nil {
		name = m.Hostname
	}
	return c.Method + " " + c.Pattern + " " + c.Op + " " + name + " " + c.Field("hostname")
}

// SetRandomFaults changes how much goes wrong from now on. The error names the field
// that is wrong.
func (o *operator) SetRandomFaults(n RandomFaults) error {
	if err := n.check(); err != nil {
		return err
	}
	o.keeper.Lock()
	defer o.keeper.Unlock()
	old := o.world.FaultSource.RandomFaults
	o.world.FaultSource.RandomFaults = world.RandomFaults(n)
	if n.SyncEvery != old.SyncEvery {
		hosts.ScheduleRandomRefresh(o.world)
	}
	return nil
}

// RandomFaults is how much goes wrong.
func (wit *inspector) RandomFaults() RandomFaults {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	return RandomFaults(wit.world.FaultSource.RandomFaults)
}

// RandomFaultCounts counts what went wrong so far, by the names that the JSON of
// Nasty has; "sync_every" are the refreshes.
func (wit *inspector) RandomFaultCounts() map[string]int {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	return maps.Clone(wit.world.FaultSource.Struck)
}
