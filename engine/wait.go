package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine/internal/jitter"
)

// Shortly is the pause where MAAS is about to change a state by itself.
const Shortly = 2 * time.Second

// LookAgain is when a step is worth repeating although nothing was seen to
// change: the poller usually wakes the caller earlier.
const LookAgain = 30 * time.Second

// LookForIt is how often to look for a VM whose compose lost its reply: no
// poller can watch what has no system id yet.
const LookForIt = 5 * time.Second

// ComposeWindow is, unless configured, how long a compose may still bear fruit after its caller
// lost it. MAAS goes on for up to 120 s (compose(timeout=120) in the region);
// the rest is for the commit and for clocks.
const ComposeWindow = 130 * time.Second

// grace is how long a compose, and the look at what it made, may go on after
// the caller's ctx has ended. A run that is interrupted then still learns the
// system id, and can tell its user that there is a VM.
const grace = 10 * time.Second

// WithGrace is a context that ends ten seconds after ctx does, or by its cancel.
func WithGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	graced, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return graced, cancel
}

// patience is how long Wait puts up with steps that fail one after the other.
// It is longer than the 120 s for which MAAS goes on composing after its
// caller has gone, so that a run which follows a killed one finds what that
// one had begun.
const patience = 150 * time.Second

// scarcity is how long Wait hopes for room: what is deleted in the same run is
// gone by then, and where no one deletes anything, no one shall wait for long.
const scarcity = 20 * time.Second

// Backoff between failing steps: doubled each time, with jitter.
const (
	backoffFirst = time.Second
	backoffMost  = 15 * time.Second
)

// Wait repeats a step until it is done. It returns the object that was seen
// last, also with an error: when the step fails for good, when it fails again
// and again for two and a half minutes, or when ctx ends. In the last case the
// error is a *StoppedError, wraps ctx.Err() and says what was waited for. Each watch
// receives the progress when the phase changes, and about every half minute.
func Wait[Object any](ctx context.Context, step func(context.Context) (Result[Object], error), watch ...func(Progress)) (Object, error) {
	var (
		last    Result[Object]
		failing failures
		seen    = watching{watch: watch}
	)
	for {
		stepCtx, cancel := context.WithCancel(ctx)
		res, err := step(stepCtx)
		if res.SystemID != "" || err == nil {
			last = res
		}
		if err == nil && res.Done {
			cancel()
			return last.Object, nil
		}
		seen.note(last.Reason, last.Message)
		if ctx.Err() != nil {
			cancel()
			return last.Object, gaveUp(ctx, last.GiveUp, seen.stoppedError(ctx, failing.last))
		}
		seen.tell(ctx)
		pause, over := failing.after(res.After, err)
		if over {
			cancel()
			return last.Object, gaveUp(ctx, last.GiveUp, failing.verdict(err))
		}
		sleep(ctx, pause, res.Changed)
		cancel()
	}
}

// gaveUp does what the last step wants where no other follows, also where ctx has ended. It
// returns the error that ends the waiting.
func gaveUp(ctx context.Context, giveUp func(context.Context) error, ending error) error {
	if giveUp == nil {
		return ending
	}
	graced, cancel := WithGrace(ctx)
	defer cancel()
	if err := giveUp(graced); err != nil {
		return errors.Join(ending, err)
	}
	return ending
}

// failures counts steps that fail one after the other.
type failures struct {
	last   error
	cause  error // the last one that was more than a wait for others
	since  time.Time
	scarce time.Time // when room was missing first; zero: it was not
	pause  time.Duration
}

// after says how long to pause before the next step, or that the error ends
// the waiting.
func (f *failures) after(pause time.Duration, err error) (time.Duration, bool) {
	if err == nil {
		*f = failures{}
		return pause, false
	}
	if f.last == nil {
		f.since, f.pause = time.Now(), backoffFirst
	}
	f.last = err
	if !errors.Is(err, ErrBusy) {
		f.cause = err
	}
	scarce := isScarcity(err)
	if scarce && f.scarce.IsZero() {
		f.scarce = time.Now()
	}
	if IsTerminal(err) || time.Since(f.since) > patience || scarce && time.Since(f.scarce) > scarcity {
		return 0, true
	}
	pause = f.pause/2 + jitter.Of(f.pause/2)
	f.pause = min(2*f.pause, backoffMost)
	return pause, false
}

// verdict is the error that ends the waiting. That others were in the way says
// little where something else had failed before.
func (f *failures) verdict(err error) error {
	if f.cause != nil && errors.Is(err, ErrBusy) {
		return fmt.Errorf("%w; what failed before that was: %w", err, f.cause)
	}
	return err
}

// isScarcity tells whether it is room that is missing.
func isScarcity(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Type == InsufficientResources
}

func sleep(ctx context.Context, pause time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changed:
	}
}

// tellAgain is how often who watches a wait is told of a phase that lasts.
const tellAgain = 30 * time.Second

// Progress is how far a wait is.
type Progress struct {
	Phase   string    // Reason of the step's Result
	Message string    // what MAAS says of it, or a sentence
	Since   time.Time // when the phase was first seen
	// Left is the time until the wait ends in any case; zero: it has no limit.
	Left time.Duration
}

// Lasted is for how long the phase was seen.
func (p Progress) Lasted() time.Duration { return time.Since(p.Since).Round(time.Second) }

// String is the progress in one line: "Commissioning for 1m30s: Powering on; 28m30s left".
func (p Progress) String() string {
	if p.Left <= 0 {
		return p.soFar()
	}
	return p.soFar() + "; " + p.Left.Round(time.Second).String() + " left"
}

func (p Progress) soFar() string {
	text := p.Phase
	if lasted := p.Lasted(); lasted > 0 {
		text += " for " + lasted.String()
	}
	if p.Message != "" {
		text += ": " + p.Message
	}
	return text
}

// StoppedError tells that a wait ended with its ctx. Its text names the phase, or the
// error of the last steps.
type StoppedError struct {
	Progress       // Phase is empty if nothing was seen
	Cause    error // of the ctx
	Last     error // of the last step, nil if it did not fail
}

func (e *StoppedError) Error() string {
	switch {
	case e.Last != nil:
		return fmt.Sprintf("%v; the last error was: %v", e.Cause, e.Last)
	case e.Phase != "":
		return fmt.Sprintf("%v while %s", e.Cause, e.soFar())
	default:
		return e.Cause.Error()
	}
}

// Unwrap returns the cause, and the last error if there is one.
func (e *StoppedError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Cause}
	}
	return []error{e.Cause, e.Last}
}

// watching is who watches a wait, and what was told last.
type watching struct {
	watch []func(Progress)
	seen  Progress
	told  time.Time
}

// note keeps what a step saw.
func (w *watching) note(phase, message string) {
	if phase != w.seen.Phase {
		w.seen.Since, w.told = time.Now(), time.Time{}
	}
	w.seen.Phase, w.seen.Message = phase, message
}

// tell tells what was seen where it is new or was told long ago.
func (w *watching) tell(ctx context.Context) {
	if w.seen.Phase == "" || time.Since(w.told) < tellAgain {
		return
	}
	w.told = time.Now()
	if end, limited := ctx.Deadline(); limited {
		w.seen.Left = time.Until(end)
	}
	for _, tell := range w.watch {
		tell(w.seen)
	}
}

// stoppedError is the error of a wait whose ctx has ended.
func (w *watching) stoppedError(ctx context.Context, last error) error {
	return &StoppedError{Progress: w.seen, Cause: context.Cause(ctx), Last: last}
}
