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

// RandomFaults is how often things go wrong by chance. Shares are probabilities from 0 to
// 1. The zero value is a MAAS without faults.
//
// A fault depends on the model's seed, on the affected object (the route with the names in
// it), and on how often that object was at risk before. It does not depend on the order of
// calls for different objects. So you can repeat a run if its goroutines make the same
// calls in the same order for each object.
type RandomFaults struct {
	// ErrorBefore is the share of calls with the answer 503 and no effect. ErrorAfter is
	// the share of calls with the answer 503 that still have their effect.
	ErrorBefore float64 `json:"error_before,omitempty"`
	ErrorAfter  float64 `json:"error_after,omitempty"`
	// Reset is the share of calls whose connection is reset before they have an effect.
	// LostReply is the share of calls whose reply is lost.
	Reset     float64 `json:"reset,omitempty"`
	LostReply float64 `json:"lost_reply,omitempty"`
	// Delay is the share of calls that first wait up to MaxDelay. The default of MaxDelay
	// is a second.
	Delay    float64       `json:"delay,omitempty"`
	MaxDelay time.Duration `json:"-"`
	// LeakCompose is the share of composes with the answer 503 whose instance LXD made,
	// without MAAS knowing it. With LeakComposeLost the reply is lost, too.
	LeakCompose     float64 `json:"leak_compose,omitempty"`
	LeakComposeLost float64 `json:"leak_compose_lost,omitempty"`
	// LateCompose is the share of composes for which LXD takes up to MaxLate longer. The
	// default of MaxLate is 120 s, the time that MAAS waits. MAAS continues after the
	// caller has gone.
	LateCompose float64       `json:"late_compose,omitempty"`
	MaxLate     time.Duration `json:"-"`
	// LeakDelete is the share of deletes of VMs that answer 204 but leave the instance.
	LeakDelete float64 `json:"leak_delete,omitempty"`
	// SyncInCompose is the share of composes during which a refresh ends. The refresh
	// adopts the new instance, and the compose fails because the name is taken.
	SyncInCompose float64 `json:"sync_in_compose,omitempty"`
	// SyncOverCompose is the share of composes that end during a UI refresh that had
	// listed the instances before. The refresh removes the new machine, and its instance
	// unless that is just starting.
	SyncOverCompose float64 `json:"sync_over_compose,omitempty"`
	// SyncEvery is the mean time between refreshes of a VM host by somebody else, through
	// the API or the UI. Zero means none.
	SyncEvery time.Duration `json:"-"`
	// RandomNames is the share of adopted instances whose machine gets a random name
	// although their own name is free.
	RandomNames float64 `json:"random_names,omitempty"`
	// Overcommit lets MAAS compose beyond the ratios of its VM hosts and the room of their
	// storage pools, so that only the client respects them. Flag: -over-commit.
	Overcommit bool `json:"overcommit,omitempty"`
}

// AllRandomFaults is all random faults but over-commitment, each with the same share, and
// a refresh every ten seconds. A share of zero is no fault at all. Flag: -nasty.
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

// check refuses an invalid field and names it.
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

// UnmarshalJSON reads times from texts and refuses unknown fields.
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

// planRandomFaults adds random faults to a call's plan.
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

// riskedObject names the operation and the object of a call. It uses names instead of ids,
// because ids depend on the order of calls.
func riskedObject(c *request.Call) string {
	name := c.Vars["id"]
	if m := c.World.Machines[name]; m != nil {
		name = m.Hostname
	}
	return c.Method + " " + c.Pattern + " " + c.Op + " " + name + " " + c.Field("hostname")
}

// SetRandomFaults changes the random faults from now on. The error names an invalid field.
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

// RandomFaults are the current random faults.
func (wit *inspector) RandomFaults() RandomFaults {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	return RandomFaults(wit.world.FaultSource.RandomFaults)
}

// RandomFaultCounts counts the random faults so far, by the JSON names of RandomFaults.
// "sync_every" counts the refreshes.
func (wit *inspector) RandomFaultCounts() map[string]int {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	return maps.Clone(wit.world.FaultSource.Struck)
}
