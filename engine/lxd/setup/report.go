package setup

import (
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// Verdict is what Apply makes of one thing that a host is to have.
type Verdict string

// The verdicts.
const (
	Keep   Verdict = "keep"   // it is there, and serves
	Make   Verdict = "make"   // it is not there
	Change Verdict = "change" // it lacks something, and nothing uses what changes
	Refuse Verdict = "refuse" // it is there and otherwise, and is not touched
)

// Step is one thing that a host is to have, and what came of it.
type Step struct {
	Object  string // "storage pool default"
	Verdict Verdict
	Detail  string // what is made, or what is there
	Hint    string // the way out of a refusal
	Done    bool   // that it was made or changed just now
}

// Report is what Apply saw and did, in the order of doing.
type Report struct {
	Version string // of LXD
	Steps   []Step
	Notes   []string // what is no obstacle, and should be known
}

// OpenCount counts what is still to be made or changed.
func (r Report) OpenCount() int {
	return r.count(func(s Step) bool { return (s.Verdict == Make || s.Verdict == Change) && !s.Done })
}

// ChangedCount counts what was made or changed.
func (r Report) ChangedCount() int { return r.count(func(s Step) bool { return s.Done }) }

func (r Report) count(is func(Step) bool) (n int) {
	for _, s := range r.Steps {
		if is(s) {
			n++
		}
	}
	return n
}

// refusedError are the steps that are refused, joined as *engine.Refusal, or nil.
func (r Report) refusedError() error {
	var all []error
	for _, s := range r.Steps {
		if s.Verdict == Refuse {
			all = append(all, s.refusalError())
		}
	}
	return errors.Join(all...)
}

func (s Step) refusalError() error {
	return &engine.Refusal{Message: s.Object + ": " + s.Detail, Hint: s.Hint, Err: engine.ErrConflict}
}
