package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	FaultBeforeEffect = "before" // the call has no effect
	FaultAfterEffect  = "after"  // the call has its effect, its answer is broken
)

// lxdPathPrefix begins the paths of faults that break calls of LXDs.
const lxdPathPrefix = "lxd/"

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
	case f.When != "" && f.When != FaultBeforeEffect && f.When != FaultAfterEffect:
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
