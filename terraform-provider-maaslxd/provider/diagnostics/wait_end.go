package diagnostics

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
)

// ExplainWaitEnd says why a wait ended too early. timeout is the attribute that allows more
// time.
func ExplainWaitEnd(ended error, timeout string) string {
	if errors.Is(ended, context.DeadlineExceeded) {
		return "The time is up; " + timeout + " allows more."
	}
	return "It was interrupted."
}

// ErrorBesideEnd is the text of an error beside ExplainWaitEnd, which has said why the wait
// ended. For a stopped wait it is the last phase, or the last error. It is empty if there is
// nothing else to say.
func ErrorBesideEnd(err error) string {
	stopped, beside := SplitStopped(err)
	text := ""
	switch {
	case stopped == nil:
	case stopped.Last != nil:
		text = "The last error was: " + ExplainError(stopped.Last)
	case stopped.Phase != "":
		text = "The last phase was " + Sentence(stopped.PhaseText())
	}
	if beside == nil || beside == context.Canceled || beside == context.DeadlineExceeded {
		return text
	}
	if text != "" {
		text += " "
	}
	return text + engine.ErrorText(beside)
}

// SplitStopped splits an error into that of a stopped wait and what was joined to it, such as
// that a VM could not be turned on again. Either may be nil.
func SplitStopped(err error) (stopped *engine.StoppedError, beside error) {
	if stopped, ok := err.(*engine.StoppedError); ok {
		return stopped, nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, err
	}
	var others []error
	for _, one := range joined.Unwrap() {
		if s, ok := one.(*engine.StoppedError); ok {
			stopped = s
		} else {
			others = append(others, one)
		}
	}
	if stopped == nil {
		return nil, err
	}
	return stopped, errors.Join(others...)
}
