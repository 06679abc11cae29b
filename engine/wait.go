package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine/internal/jitter"
)

// TransitionPollInterval is the pause before MAAS changes a state by itself.
const TransitionPollInterval = 2 * time.Second

// FallbackPollInterval is the pause after which a step is repeated although no change was seen.
// The poller usually wakes the caller earlier.
const FallbackPollInterval = 30 * time.Second

// LostComposePollInterval is how often to look for a VM whose compose lost its reply. No poller
// can watch a VM that has no system id yet.
const LostComposePollInterval = 5 * time.Second

// ComposeWindow is the default time for which a compose may still make its VM after its caller
// lost it. MAAS continues for up to 120 s (compose(timeout=120) in the region). The rest is for
// the commit and for clock differences.
const ComposeWindow = 130 * time.Second

// gracePeriod is how long a compose, and the look for its VM, may continue after the caller's
// ctx has ended. So an interrupted run still learns the system id, and can tell its user that
// there is a VM.
const gracePeriod = 10 * time.Second

// WithGrace returns a context that ends ten seconds after ctx ends, or when it is cancelled.
func WithGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	graced, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(gracePeriod, cancel) })
	return graced, cancel
}

// failureTimeout is how long WaitUntilDone accepts steps that fail one after the other. It is
// longer than the 120 s for which MAAS continues to compose after its caller has gone. So a run
// that follows a killed one finds the VM that the killed run began.
const failureTimeout = 150 * time.Second

// noRoomTimeout is how long WaitUntilDone waits for room. Objects that are deleted in the same
// run are gone by then. Where nobody deletes anything, nobody waits for long.
const noRoomTimeout = 20 * time.Second

// The backoff between failing steps doubles each time, with jitter.
const (
	initialBackoff = time.Second
	maxBackoff     = 15 * time.Second
)

// WaitUntilDone repeats a step until it is done. It returns the object that it saw last, also
// with an error. It ends with an error when the step fails for good, when steps fail for two
// and a half minutes, or when ctx ends. In the last case the error is a *StoppedError, which
// wraps ctx.Err() and says what was waited for. Each watch receives the progress when the phase
// changes, and about every half minute.
func WaitUntilDone[Object any](ctx context.Context, step func(context.Context) (Result[Object], error), watch ...func(Progress)) (Object, error) {
	var (
		last    Result[Object]
		failing failureStreak
		seen    = progressReporter{watchers: watch}
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
		seen.setPhase(last.Reason, last.Message)
		if ctx.Err() != nil {
			cancel()
			return last.Object, runGiveUp(ctx, last.GiveUp, seen.stoppedError(ctx, failing.last))
		}
		seen.report(ctx)
		pause, over := failing.nextPause(res.After, err)
		if over {
			cancel()
			return last.Object, runGiveUp(ctx, last.GiveUp, failing.finalError(err))
		}
		sleepUntilChanged(ctx, pause, res.Changed)
		cancel()
	}
}

// runGiveUp calls the GiveUp of the last step, also after ctx has ended. It returns the error
// that ends the waiting.
func runGiveUp(ctx context.Context, giveUp func(context.Context) error, ending error) error {
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

// failureStreak counts steps that fail one after the other.
type failureStreak struct {
	last             error
	cause            error // the last failure other than a missing room or lease
	since            time.Time
	roomMissingSince time.Time // when room began to be missing, with no VM about to leave any; zero: it is not
	backoff          time.Duration
}

// nextPause returns the pause before the next step, or false if the error ends the waiting.
func (f *failureStreak) nextPause(pause time.Duration, err error) (time.Duration, bool) {
	if err == nil {
		*f = failureStreak{}
		return pause, false
	}
	if f.last == nil {
		f.since, f.backoff = time.Now(), initialBackoff
	}
	f.last = err
	if !errors.Is(err, ErrBusy) {
		f.cause = err
	}
	scarce := IsRoomMissing(err)
	switch {
	case !scarce:
		f.roomMissingSince = time.Time{}
	case f.roomMissingSince.IsZero(), errors.Is(err, ErrRoomLeaving):
		f.roomMissingSince = time.Now()
	}
	if IsTerminal(err) || time.Since(f.since) > failureTimeout || scarce && time.Since(f.roomMissingSince) > noRoomTimeout {
		return 0, true
	}
	pause = f.backoff/2 + jitter.RandomPause(f.backoff/2)
	f.backoff = min(2*f.backoff, maxBackoff)
	return pause, false
}

// finalError is the error that ends the waiting. If an earlier step failed for another reason
// than others in the way, it adds that failure, which says more.
func (f *failureStreak) finalError(err error) error {
	if f.cause != nil && errors.Is(err, ErrBusy) {
		return fmt.Errorf("%w; what failed before that was: %w", err, f.cause)
	}
	return err
}

// IsRoomMissing tells whether missing room on the VM hosts is the cause.
func IsRoomMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Type == InsufficientResources
}

func sleepUntilChanged(ctx context.Context, pause time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changed:
	}
}

// progressInterval is how often a watch hears of a phase that lasts.
const progressInterval = 30 * time.Second

// Progress describes the state of a wait.
type Progress struct {
	Phase   string    // Reason of the step's Result
	Message string    // MAAS's status message, or a sentence
	Since   time.Time // when the phase was first seen
	// Left is the time until the wait ends in any case; zero: it has no limit.
	Left time.Duration
}

// PhaseDuration is the time since the phase was first seen, in whole seconds.
func (p Progress) PhaseDuration() time.Duration { return time.Since(p.Since).Round(time.Second) }

// String is the progress in one line: "Commissioning for 1m30s: Powering on; 28m30s left".
func (p Progress) String() string {
	if p.Left <= 0 {
		return p.PhaseText()
	}
	return p.PhaseText() + "; " + p.Left.Round(time.Second).String() + " left"
}

// PhaseText is the phase, its duration and the message: "Commissioning for 1m30s: Powering on".
// It leaves out a message that only repeats the phase, as MAAS's often does.
func (p Progress) PhaseText() string {
	text := p.Phase
	if lasted := p.PhaseDuration(); lasted > 0 {
		text += " for " + lasted.String()
	}
	if p.Message != "" && strings.ReplaceAll(p.Message, " ", "") != p.Phase {
		text += ": " + p.Message
	}
	return text
}

// StoppedError says that a wait ended with its ctx. Its text names the phase, or the error of
// the last steps.
type StoppedError struct {
	Progress       // Phase is empty if nothing was seen
	Cause    error // of the ctx
	Last     error // of the last step, nil if it did not fail
}

func (e *StoppedError) Error() string {
	switch {
	case e.Last != nil:
		return fmt.Sprintf("%s; the last error was: %v", e.causeText(), e.Last)
	case e.Phase != "":
		return fmt.Sprintf("%s while %s", e.causeText(), e.PhaseText())
	default:
		return e.causeText()
	}
}

// causeText says why the wait ended. It is the wait that has a time limit, and not a call.
func (e *StoppedError) causeText() string {
	if errors.Is(e.Cause, context.DeadlineExceeded) {
		return "the time is up"
	}
	return ErrorText(e.Cause)
}

// Unwrap returns the cause, and the last error if there is one.
func (e *StoppedError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Cause}
	}
	return []error{e.Cause, e.Last}
}

// progressReporter holds the watches of a wait, and what they heard last.
type progressReporter struct {
	watchers   []func(Progress)
	progress   Progress
	lastReport time.Time
}

// setPhase stores the phase that a step saw.
func (w *progressReporter) setPhase(phase, message string) {
	if phase != w.progress.Phase {
		w.progress.Since, w.lastReport = time.Now(), time.Time{}
	}
	w.progress.Phase, w.progress.Message = phase, message
}

// report tells the watches of a phase that is new, or that they heard of long ago.
func (w *progressReporter) report(ctx context.Context) {
	if w.progress.Phase == "" || time.Since(w.lastReport) < progressInterval {
		return
	}
	w.lastReport = time.Now()
	if end, limited := ctx.Deadline(); limited {
		w.progress.Left = time.Until(end)
	}
	for _, tell := range w.watchers {
		tell(w.progress)
	}
}

// stoppedError makes the error of a wait whose ctx has ended.
func (w *progressReporter) stoppedError(ctx context.Context, last error) error {
	return &StoppedError{Progress: w.progress, Cause: context.Cause(ctx), Last: last}
}
