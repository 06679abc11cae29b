package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// A VM is made in at most maxAttempts attempts, as its row counts them, also after a crash.
// One step tries at most maxHostsPerStep hosts.
const (
	maxAttempts     = 3
	maxHostsPerStep = 3
)

// Attempt makes one VM: for a key, as its spec says, on one host after the other. The
// ledger has chosen and noted each host before anything is composed there.
type Attempt struct {
	*Maker
	key        engine.Key
	want       engine.VMSpec
	sites      Sites      // on which the VM may be made
	row        engine.Row // what this attempt has reserved
	hostsTried int        // how many hosts it has tried
}

// NewAttempt is one at the VM of a key. Nothing has happened yet.
func (mk *Maker) NewAttempt(key engine.Key, want engine.VMSpec) *Attempt {
	return &Attempt{Maker: mk, key: key, want: want}
}

// Outcome is what an attempt came to, where it did not fail.
type Outcome struct {
	// Machine is the VM that is there, composed and not commissioned. Its SystemID is
	// empty where there is none yet.
	Machine engine.Machine
	// MadeDespiteError tells that the compose failed, and that its VM is there.
	MadeDespiteError bool
	// After, Reason and Message say when to try again, and why, as of a Result.
	After   time.Duration
	Reason  string
	Message string
}

// HasVM tells that the VM is there.
func (o Outcome) HasVM() bool { return o.Machine.SystemID != "" }

// MakeVM makes the VM: reserve, compose, read what came back. Whatever breaks in between,
// the next look finds either nothing, or a machine with our marker, or a row that says
// how long to wait before nothing means nothing. To bind and to mark it as the key's is
// the caller's next act.
func (a *Attempt) MakeVM(ctx context.Context, on Sites) (Outcome, error) {
	a.sites = on
	if err := a.sweepGroup(ctx, a.want.Placement.Group); err != nil {
		return Outcome{}, err
	}
	row, fresh, err := a.Ledger.Place(ctx, on.reservation(a.key, a.want))
	if err != nil {
		return Outcome{}, a.handleReservationError(ctx, a.want, err)
	}
	if row.State == engine.RowLeaving {
		// Of a delete that goes on, or that was cut off: then reconcile drops it.
		return Outcome{}, fmt.Errorf("a VM %s is being deleted: %w", a.want.Name, engine.ErrBusy)
	}
	a.row = row
	if !fresh && a.ComposeRemaining(row) == 0 {
		if a.row, fresh, err = a.reserveNextAttempt(ctx); err != nil {
			return Outcome{}, a.handleReservationError(ctx, a.want, err)
		}
	}
	if !fresh {
		return Outcome{
			After: min(a.ComposeRemaining(a.row), engine.LostComposePollInterval), Reason: "ComposeUnclear",
			Message: fmt.Sprintf("the reply to an earlier compose of %s was lost; MAAS may still be at it", a.want.Name),
		}, nil
	}
	return a.composeUntilDone(ctx)
}

// MayMove reports whether the VM of a row that failed may be made on another host.
func (a *Attempt) MayMove(row engine.Row) bool { return a.want.Host == "" && row.Attempt < maxAttempts }

// MakeOnOtherHost makes the VM of a row anew on another of the sites, after it failed where
// the row says and was removed there. It begins at once: a row that is only reserved
// would look like a compose whose reply was lost.
func (a *Attempt) MakeOnOtherHost(ctx context.Context, on Sites, from engine.Row) (Outcome, error) {
	a.sites, a.row = on, from
	next, fresh, err := a.reserveOnOtherHost(ctx)
	switch {
	case err != nil:
		return Outcome{Reason: "Moving"}, a.handleReservationError(ctx, a.want, err)
	case !fresh:
		return Outcome{Reason: "Moving", After: engine.TransitionPollInterval}, nil
	}
	a.row = next
	return a.composeUntilDone(ctx)
}

// reserveNextAttempt begins anew for a row whose VM did not come to be, or has vanished: on another
// host where there is one, else on any.
func (a *Attempt) reserveNextAttempt(ctx context.Context) (next engine.Row, fresh bool, err error) {
	moved := false
	if a.want.Host == "" && len(a.sites.hosts) > 1 {
		next, fresh, err = a.reserveOnOtherHost(ctx)
		moved = err == nil
	}
	if !moved {
		next, fresh, err = a.Ledger.Move(ctx, a.row.Attempt+1, a.sites.reservation(a.key, a.want))
	}
	if fresh && next.HostKey != a.row.HostKey {
		a.noteLeftoverOnHost(ctx, a.row, func(h engine.VMHost) bool { return h.Err != nil }) // only people can look there
	}
	return next, fresh, err
}

// reserveOnOtherHost reserves room for the next attempt on another host than the row's.
func (a *Attempt) reserveOnOtherHost(ctx context.Context) (next engine.Row, fresh bool, err error) {
	r := a.sites.reservation(a.key, a.want)
	r.Exclude = []string{a.row.HostKey}
	return a.Ledger.Move(ctx, a.row.Attempt+1, r)
}

// composeHostname is the hostname that the VM is composed with. It is another one than the VM's
// name where LXD has an instance of that name (instance_name.go).
func (a *Attempt) composeHostname() string { return cmp.Or(a.row.Name, a.want.Name) }

// composeResult is one compose, and what a look afterwards has shown.
type composeResult struct {
	host    engine.VMHost
	machine engine.Machine // that compose has made
	failure error          // of compose; nil: it made the machine
	found   foundMachines  // of a failure with a clear answer
}

// verdict is what a trial means for the attempt.
type verdict string

// The verdicts, in the order in which they are asked for.
const (
	verdictComposed         verdict = "composed"      // MAAS or LXD made the VM and said so
	verdictNotSent          verdict = "not sent"      // the row is another one by now, or another run's
	verdictUnclear          verdict = "unclear"       // the reply is lost: the row knows since when
	verdictMadeDespiteError verdict = "there anyway"  // refused, and the VM is there
	verdictInterrupted      verdict = "interrupted"   // the caller gives up: the row knows since when
	verdictInstanceRenamed  verdict = "name renamed"  // LXD has the name of a VM that has another one in MAAS
	verdictRefused          verdict = "refused"       // for good, or the name is a stranger's
	verdictTryNextHost      verdict = "try next host" // refused here, and another host may do better
)

// verdictActions says what follows from each verdict. An act that returns again lets the
// attempt go on, with another row.
var verdictActions = map[verdict]func(*Attempt, context.Context, composeResult) (out Outcome, again bool, err error){
	verdictComposed:         (*Attempt).acceptComposed,
	verdictNotSent:          (*Attempt).returnFailure,
	verdictUnclear:          (*Attempt).returnFailure,
	verdictMadeDespiteError: (*Attempt).acceptDespiteError,
	verdictInterrupted:      (*Attempt).returnFailure,
	verdictInstanceRenamed:  (*Attempt).composeUnderNewName,
	verdictRefused:          (*Attempt).giveUpAttempt,
	verdictTryNextHost:      (*Attempt).moveToNextHost,
}

// composeUntilDone composes where the row says, and goes on as the outcomes say.
func (a *Attempt) composeUntilDone(ctx context.Context) (Outcome, error) {
	for a.hostsTried = 1; ; a.hostsTried++ {
		host, ok := a.sites.findHost(a.row.HostKey)
		if !ok {
			return Outcome{}, fmt.Errorf("the ledger chose VM host %s, which is no candidate for %s: %w", a.row.HostKey, a.want.Name, engine.ErrBusy)
		}
		t := composeResult{host: host}
		t.machine, t.failure = a.composeVM(ctx, host)
		v, err := a.evaluateCompose(ctx, &t)
		if err != nil {
			return Outcome{}, err
		}
		if out, again, err := verdictActions[v](a, ctx, t); !again {
			return out, err
		}
	}
}

// isHeldByOtherRun tells that another run has taken the lease, and so the row.
func isHeldByOtherRun(err error) bool {
	_, held := errors.AsType[*engine.HeldError](err)
	return held
}

// evaluateCompose says what a trial means. Where compose has failed with a clear answer, it looks
// what is there: MAAS says no in the same way before and after LXD has made the instance.
func (a *Attempt) evaluateCompose(ctx context.Context, t *composeResult) (verdict, error) {
	switch {
	case t.failure == nil:
		return verdictComposed, nil
	case errors.Is(t.failure, engine.ErrBusy), isHeldByOtherRun(t.failure):
		return verdictNotSent, nil
	}
	t.failure = notComposedError(a.want.Name, t.host, t.failure)
	if errors.Is(t.failure, engine.ErrUnclear) {
		return verdictUnclear, nil
	}
	mayMove := a.want.Host == "" && canOtherHostSucceed(t.failure) && a.hostsTried < maxHostsPerStep
	if mayMove {
		pauseBeforeLook(ctx)
	}
	var err error
	t.found, err = a.lookAfterCompose(ctx, *t)
	renamed := err == nil && t.found.stranger == nil && a.row.Name == a.want.Name && a.hasInstanceMadeAs(ctx, t.host, a.want.Name)
	if err == nil && !renamed && !mayMove && isNameTakenInLXD(t.failure) {
		err = a.keepLooking(ctx, t)
	}
	switch {
	case t.found.ours != nil:
		return verdictMadeDespiteError, nil
	case ctx.Err() != nil:
		return verdictInterrupted, nil
	case err != nil:
		return "", err
	case renamed:
		return verdictInstanceRenamed, nil
	case t.found.stranger != nil, !mayMove:
		return verdictRefused, nil
	}
	return verdictTryNextHost, nil
}
