package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// A VM gets at most maxAttempts attempts. Its row counts them, also after a crash. One step
// tries at most maxHostsPerStep hosts.
const (
	maxAttempts     = 3
	maxHostsPerStep = 3
)

// Attempt makes one VM of a key and its spec, on one host after the other. The ledger chooses
// and notes each host before anything is composed there.
type Attempt struct {
	*Maker
	key        engine.Key
	want       engine.VMSpec
	sites      Sites      // hosts on which the VM may be made
	row        engine.Row // the reservation of this attempt
	hostsTried int        // how many hosts it has tried
}

// NewAttempt returns an attempt to make the VM of a key. It makes no call.
func (mk *Maker) NewAttempt(key engine.Key, want engine.VMSpec) *Attempt {
	return &Attempt{Maker: mk, key: key, want: want}
}

// Outcome is the result of an attempt without an error.
type Outcome struct {
	// Machine is the VM, composed but not commissioned. Its SystemID is empty if there is no VM
	// yet.
	Machine engine.Machine
	// MadeDespiteError means that the compose failed, but that its VM exists.
	MadeDespiteError bool
	// After, Reason and Message say when to try again, and why, as in a Result.
	After   time.Duration
	Reason  string
	Message string
}

// HasVM tells that the VM exists.
func (o Outcome) HasVM() bool { return o.Machine.SystemID != "" }

// MakeVM makes the VM: it reserves room, composes, and reads the VM. The caller then binds it
// and marks it as the key's. If a run breaks in between, the next look finds one of three
// things: nothing, a machine with our marker, or a row. The row says how long to wait until an
// absent machine proves that there is no VM.
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
		// A delete runs, or was interrupted. Reconcile drops the row of an interrupted one.
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
			Message: fmt.Sprintf("the reply to an earlier compose of %s was lost; MAAS may still be composing it", a.want.Name),
		}, nil
	}
	return a.composeUntilDone(ctx)
}

// MayMove reports whether the VM of a failed row may be made on another host.
func (a *Attempt) MayMove(row engine.Row) bool { return a.want.Host == "" && row.Attempt < maxAttempts }

// MakeOnOtherHost makes a VM anew on another of the sites. The VM failed on the host of the
// row, and was removed there. MakeOnOtherHost composes at once: a row that is only reserved
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

// reserveNextAttempt begins a new attempt for a row whose VM was never made, or has vanished.
// It prefers another host, and else takes any.
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

// composeHostname is the hostname that the VM is composed with. It differs from the VM's name
// if LXD has an instance of that name (instance_name.go).
func (a *Attempt) composeHostname() string { return cmp.Or(a.row.Name, a.want.Name) }

// composeResult is the result of one compose, and of a look afterwards.
type composeResult struct {
	host    engine.VMHost
	machine engine.Machine // the machine that compose made
	failure error          // the error of compose; nil: it made the machine
	found   foundMachines  // after a failure with a clear answer
}

// verdict is the meaning of a composeResult for the attempt.
type verdict string

// The verdicts, in the order in which they are checked.
const (
	verdictComposed         verdict = "composed"      // MAAS or LXD made the VM and said so
	verdictNotSent          verdict = "not sent"      // the row has changed, or another run has taken it
	verdictUnclear          verdict = "unclear"       // the reply is lost: the row tells the time
	verdictMadeDespiteError verdict = "there anyway"  // refused, but the VM exists
	verdictInterrupted      verdict = "interrupted"   // the caller stops: the row tells the time
	verdictInstanceRenamed  verdict = "name renamed"  // LXD has this name for a VM with another name in MAAS
	verdictRefused          verdict = "refused"       // for good, or somebody else has the name
	verdictTryNextHost      verdict = "try next host" // refused here, but another host may succeed
)

// verdictActions says what follows from each verdict. An action that returns again continues
// the attempt with another row.
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

// composeUntilDone composes on the host of the row, and continues as the verdicts say.
func (a *Attempt) composeUntilDone(ctx context.Context) (Outcome, error) {
	for a.hostsTried = 1; ; a.hostsTried++ {
		host, ok := a.sites.findHost(a.row.HostKey)
		if !ok {
			return Outcome{}, fmt.Errorf("the ledger chose VM host %s, which is not a candidate for %s: %w", a.row.HostKey, a.want.Name, engine.ErrBusy)
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

// isHeldByOtherRun tells that another run has taken the lease, and with it the row.
func isHeldByOtherRun(err error) bool {
	_, held := errors.AsType[*engine.HeldError](err)
	return held
}

// evaluateCompose finds the verdict of a compose. After a clear failure it looks for the VM:
// MAAS gives the same refusal before and after LXD has made the instance.
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
