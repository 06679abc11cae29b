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
	// FaultHang never answers. The call ends when its client gives up.
	FaultHang = "hang"
	// FaultReset resets the connection.
	FaultReset = "reset"
	// FaultLostReply closes the connection instead of a reply.
	FaultLostReply = "lost-reply"
	// FaultDelay only waits for Delay.
	FaultDelay = "delay"
)

// When a fault takes effect.
const (
	FaultBeforeEffect = "before" // the call has no effect
	FaultAfterEffect  = "after"  // the call has its effect, but no usable answer
)

// lxdPathPrefix begins the path of a fault in an LXD's API.
const lxdPathPrefix = "lxd/"

// Fault breaks calls of MAAS's API or of an LXD's. A fault with only empty fields matches
// every call of MAAS's API.
type Fault struct {
	ID int `json:"id,omitempty"` // AddFault sets it
	// Method is an HTTP method.
	Method string `json:"method,omitempty"`
	// Path is a path below /MAAS/api/2.0/ like "machines/*/", where * is any one part. For
	// an LXD it is like "lxd/host1/1.0/instances/*": host1 is the LXD's name, or * for
	// all. A last part "**" matches any number of parts.
	Path string `json:"path,omitempty"`
	// Op is the call's op. "-" matches only calls without one.
	Op string `json:"op,omitempty"`
	// Object is the id or name in the path, the hostname of the machine that the path
	// names, or the hostname in the form.
	Object string `json:"object,omitempty"`
	// Nth breaks only the nth matching call since the fault was added, counted from 1.
	// Zero breaks every one.
	Nth int `json:"nth,omitempty"`
	// Times is the maximum number of broken calls. Zero is no limit.
	Times int `json:"times,omitempty"`
	// Probability is the share of matching calls to break. Zero breaks all.
	Probability float64 `json:"probability,omitempty"`
	// When is "before" (default) or "after" the effect.
	When string `json:"when,omitempty"`
	// Kind is "status", "hang", "reset", "lost-reply" or "delay".
	Kind string `json:"kind"`
	// Status and Body are the answer of kind "status". Without a body, it is the status'
	// name.
	Status int    `json:"status,omitempty"`
	Body   string `json:"body,omitempty"`
	// Delay passes before the fault takes effect. JSON has it as a text like "300ms".
	Delay time.Duration `json:"-"`
	// Matched counts the matching calls so far, and Struck the broken ones among them.
	// Faults sets them; AddFault starts both at zero.
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

// UnmarshalJSON reads Delay from a text. An unknown field is an error, because a fault
// with a misspelled field would break every call.
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

// check returns what is wrong with a fault.
func (f Fault) check() error {
	kinds := []string{FaultStatus, FaultHang, FaultReset, FaultLostReply, FaultDelay}
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("kind: %q is not one of %s", f.Kind, strings.Join(kinds, ", "))
	case f.When != "" && f.When != FaultBeforeEffect && f.When != FaultAfterEffect:
		return fmt.Errorf("when: %q is neither before nor after", f.When)
	case f.Kind == FaultStatus && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("status: %d is not the status of an answer", f.Status)
	case f.Nth < 0 || f.Times < 0 || f.Delay < 0:
		return fmt.Errorf("nth, times and delay must not be negative")
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("probability: %v is not between 0 and 1", f.Probability)
	}
	return nil
}
