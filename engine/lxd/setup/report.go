package setup

import (
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// Verdict is what Apply decides for one thing that a host needs.
type Verdict string

// The verdicts.
const (
	Keep   Verdict = "keep"   // it exists and is usable
	Make   Verdict = "make"   // it does not exist
	Change Verdict = "change" // it lacks something, and nothing uses what changes
	Refuse Verdict = "refuse" // it exists with other settings, and is not changed
)

// Step is one thing that a host needs, and its result.
type Step struct {
	Object  string // "storage pool default"
	Verdict Verdict
	Detail  string // what is made, or what exists
	Hint    string // the way out of a refusal
	Done    bool   // it was made or changed by this run
}

// Report is what Apply found and did, in the order of doing.
type Report struct {
	Version string // of LXD
	Steps   []Step
	Notes   []string // for people to know; no obstacles
}

// OpenCount counts the things that must still be made or changed.
func (r Report) OpenCount() int {
	return r.count(func(s Step) bool { return (s.Verdict == Make || s.Verdict == Change) && !s.Done })
}

// ChangedCount counts the things that this run made or changed.
func (r Report) ChangedCount() int { return r.count(func(s Step) bool { return s.Done }) }

func (r Report) count(is func(Step) bool) (n int) {
	for _, s := range r.Steps {
		if is(s) {
			n++
		}
	}
	return n
}

// refusedError joins the refused steps as *engine.Refusal; nil if there are none.
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
