package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kinds of faults.
const (
	// FaultStatus answers with Status and Body.
	FaultStatus = "status"
	// FaultHang never answers; the call ends with its client.
	FaultHang = "hang"
	// FaultReset resets the connection.
	FaultReset = "reset"
	// FaultLostReply closes the connection where the reply should be.
	FaultLostReply = "lost-reply"
	// FaultDelay only waits for Delay.
	FaultDelay = "delay"
)

// When a fault strikes.
const (
	Before = "before" // the call has no effect
	After  = "after"  // the call has its effect, its answer is broken
)

// lxdFaults begins the paths of faults that break calls of LXDs.
const lxdFaults = "lxd/"

// Fault breaks calls of MAAS's API, or of an LXD's. Empty fields match every
// call of MAAS's.
type Fault struct {
	ID int `json:"id,omitempty"` // given by AddFault
	// Method is an HTTP method.
	Method string `json:"method,omitempty"`
	// Path is a path below /MAAS/api/2.0/ as "machines/*/": * is one part. Those
	// of LXDs are like "lxd/host1/1.0/instances/*", host1 being the LXD's name,
	// or *; a last part "**" is all that follows.
	Path string `json:"path,omitempty"`
	// Op is the call's op; "-" matches only calls without one.
	Op string `json:"op,omitempty"`
	// Object is the id or the name in the path, the hostname of the machine
	// that it names, or the hostname in the form.
	Object string `json:"object,omitempty"`
	// Nth strikes only at the nth matching call since the fault was added, from
	// 1; zero strikes at every one.
	Nth int `json:"nth,omitempty"`
	// Times is how often it strikes at most; zero is no limit.
	Times int `json:"times,omitempty"`
	// Probability strikes at that share of the matching calls; zero is all.
	Probability float64 `json:"probability,omitempty"`
	// When is "before" (default) or "after" the effect.
	When string `json:"when,omitempty"`
	// Kind is "status", "hang", "reset", "lost-reply" or "delay".
	Kind string `json:"kind"`
	// Status and Body are the answer of kind "status"; a status without a body
	// gets its name.
	Status int    `json:"status,omitempty"`
	Body   string `json:"body,omitempty"`
	// Delay passes before the fault strikes. In JSON a text like "300ms".
	Delay time.Duration `json:"-"`
	// Matched is how many calls it was meant for so far, Struck how many of
	// them it broke. Faults fills them in; AddFault begins at zero.
	Matched int `json:"matched"`
	Struck  int `json:"struck"`
}

type faultFields Fault

type faultFile struct {
	faultFields
	Delay string `json:"delay,omitempty"`
}

// MarshalJSON writes Delay as a text.
func (f Fault) MarshalJSON() ([]byte, error) {
	file := faultFile{faultFields: faultFields(f)}
	if f.Delay > 0 {
		file.Delay = f.Delay.String()
	}
	return json.Marshal(file)
}

// UnmarshalJSON reads Delay from a text. A field that no fault has is an error:
// else a slip of the pen would strike every call.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var file faultFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return err
	}
	*f = Fault(file.faultFields)
	if file.Delay == "" {
		return nil
	}
	delay, err := time.ParseDuration(file.Delay)
	f.Delay = delay
	return err
}

// check says what is wrong with a fault.
func (f Fault) check() error {
	kinds := []string{FaultStatus, FaultHang, FaultReset, FaultLostReply, FaultDelay}
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("kind: %q is none of %s", f.Kind, strings.Join(kinds, ", "))
	case f.When != "" && f.When != Before && f.When != After:
		return fmt.Errorf("when: %q is neither before nor after", f.When)
	case f.Kind == FaultStatus && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("status: %d is no status of an answer", f.Status)
	case f.Nth < 0 || f.Times < 0 || f.Delay < 0:
		return fmt.Errorf("nth, times and delay are not negative")
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("probability: %v is not between 0 and 1", f.Probability)
	}
	return nil
}

// faults are the faults that were added, in their order.
type faults struct {
	lastID int
	list   []*Fault
	rand   *rand.Rand
}

func (all *faults) init(seed int64) {
	*all = faults{rand: rand.New(rand.NewPCG(uint64(seed), 2))}
}

// AddFault adds a fault and returns its id. It panics for a fault that can
// never strike: the test is wrong then.
func (s *Sim) AddFault(f Fault) int {
	id, err := s.addFault(f)
	if err != nil {
		panic("sim: AddFault: " + err.Error())
	}
	return id
}

func (s *Sim) addFault(f Fault) (int, error) {
	if err := f.check(); err != nil {
		return 0, fmt.Errorf("cannot add the fault: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.lastID++
	f.ID, f.Matched, f.Struck = s.faults.lastID, 0, 0
	s.faults.list = append(s.faults.list, &f)
	return f.ID, nil
}

// RemoveFault removes a fault; one that is not there is no error.
func (s *Sim) RemoveFault(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.list = slices.DeleteFunc(s.faults.list, func(f *Fault) bool { return f.ID == id })
}

// ClearFaults removes all faults.
func (s *Sim) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.list = nil
}

// Faults are the faults that are there, and how often they struck.
func (s *Sim) Faults() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Fault{}
	for _, f := range s.faults.list {
		out = append(out, *f)
	}
	return out
}

// callPlan is what the faults make of one call.
type callPlan struct {
	delay         time.Duration
	before, after *Fault
	entry         *entry
}

// plan counts the call for every fault that it matches; the first that strikes
// before and the first that strikes after are kept.
func (all *faults) plan(c *call) callPlan {
	var p callPlan
	for _, f := range all.list {
		if !f.matches(c) {
			continue
		}
		f.Matched++
		if !f.strikes(all.rand) {
			continue
		}
		f.Struck++
		p.delay += f.Delay
		hit := *f
		switch {
		case f.Kind == FaultDelay:
		case f.When == After && p.after == nil:
			p.after = &hit
		case f.When != After && p.before == nil:
			p.before = &hit
		}
	}
	return p
}

func (f *Fault) strikes(r *rand.Rand) bool {
	switch {
	case f.Nth > 0 && f.Matched != f.Nth:
	case f.Times > 0 && f.Struck >= f.Times:
	case f.Probability > 0 && r.Float64() >= f.Probability:
	default:
		return true
	}
	return false
}

func (f *Fault) matches(c *call) bool {
	switch {
	case c.lxd != strings.HasPrefix(f.Path, lxdFaults):
	case c.pattern == "" && f.Path != "":
	case f.Method != "" && !strings.EqualFold(f.Method, c.method):
	case f.Op == "-" && c.op != "":
	case f.Op != "" && f.Op != "-" && f.Op != c.op:
	case f.Path != "" && !samePath(f.Path, c.path()):
	case f.Object != "" && !c.concerns(f.Object):
	default:
		return true
	}
	return false
}

// samePath compares a path with a pattern whose * is any one part.
func samePath(pattern, path string) bool {
	want := strings.Split(strings.Trim(strings.TrimPrefix(pattern, apiRoot), "/"), "/")
	have := strings.Split(strings.Trim(path, "/"), "/")
	if last := len(want) - 1; want[last] == "**" && len(have) >= len(want) {
		want, have = want[:last], have[:last]
	}
	return len(want) == len(have) && !slices.ContainsFunc(slices.Collect(indexes(want)), func(i int) bool {
		return want[i] != "*" && want[i] != have[i]
	})
}

func indexes(parts []string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range parts {
			if !yield(i) {
				return
			}
		}
	}
}

// path is the call's path below the API's root.
func (c *call) path() string {
	path := c.pattern
	for name, value := range c.vars {
		path = strings.Replace(path, "{"+name+"}", value, 1)
	}
	return path
}

// concerns says whether the call is about an object of that id or name.
func (c *call) concerns(object string) bool {
	for _, value := range c.vars {
		if value == object {
			return true
		}
		if m := c.w.machines[value]; m != nil && m.hostname == object {
			return true
		}
		if h := c.w.hostNamed(object); h != nil && itoa(h.id) == value {
			return true
		}
	}
	return c.method != http.MethodGet && c.field("hostname") == object
}
