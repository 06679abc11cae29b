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
// One step tries at most maxHosts hosts.
const (
	maxAttempts = 3
	maxHosts    = 3
)

// Attempt makes one VM: for a key, as its spec says, on one host after the other. The
// ledger has chosen and noted each host before anything is composed there.
type Attempt struct {
	*Maker
	key   engine.Key
	want  engine.VMSpec
	sites Sites      // on which the VM may be made
	row   engine.Row // what this attempt has reserved
	hosts int        // how many hosts it has tried
}

// Attempt is one at the VM of a key. Nothing has happened yet.
func (mk *Maker) Attempt(key engine.Key, want engine.VMSpec) *Attempt {
	return &Attempt{Maker: mk, key: key, want: want}
}

// Outcome is what an attempt came to, where it did not fail.
type Outcome struct {
	// Machine is the VM that is there, composed and not commissioned. Its SystemID is
	// empty where there is none yet.
	Machine engine.Machine
	// ThereAllTheSame tells that the compose failed, and that its VM is there.
	ThereAllTheSame bool
	// After, Reason and Message say when to try again, and why, as of a Result.
	After   time.Duration
	Reason  string
	Message string
}

// Exists tells that the VM is there.
func (o Outcome) Exists() bool { return o.Machine.SystemID != "" }

// Make makes the VM: reserve, compose, read what came back. Whatever breaks in between,
// the next look finds either nothing, or a machine with our marker, or a row that says
// how long to wait before nothing means nothing. To bind and to mark it as the key's is
// the caller's next act.
func (a *Attempt) Make(ctx context.Context, on Sites) (Outcome, error) {
	a.sites = on
	if err := a.sweepGroup(ctx, a.want.Placement.Group); err != nil {
		return Outcome{}, err
	}
	row, fresh, err := a.Ledger.Place(ctx, on.reservation(a.key, a.want))
	if err != nil {
		return Outcome{}, a.unreserved(ctx, a.want, err)
	}
	if row.State == engine.RowLeaving {
		// Of a delete that goes on, or that was cut off: then reconcile drops it.
		return Outcome{}, fmt.Errorf("a VM %s is being deleted: %w", a.want.Name, engine.ErrBusy)
	}
	a.row = row
	if !fresh && a.ComposeRemaining(row) == 0 {
		if a.row, fresh, err = a.beginAnew(ctx); err != nil {
			return Outcome{}, a.unreserved(ctx, a.want, err)
		}
	}
	if !fresh {
		return Outcome{
			After: min(a.ComposeRemaining(a.row), engine.LookForIt), Reason: "ComposeUnclear",
			Message: fmt.Sprintf("the reply to an earlier compose of %s was lost; MAAS may still be at it", a.want.Name),
		}, nil
	}
	return a.run(ctx)
}

// MayMove reports whether the VM of a row that failed may be made on another host.
func (a *Attempt) MayMove(row engine.Row) bool { return a.want.Host == "" && row.Attempt < maxAttempts }

// Elsewhere makes the VM of a row anew on another of the sites, after it failed where
// the row says and was removed there. It begins at once: a row that is only reserved
// would look like a compose whose reply was lost.
func (a *Attempt) Elsewhere(ctx context.Context, on Sites, from engine.Row) (Outcome, error) {
	a.sites, a.row = on, from
	next, fresh, err := a.reserveElsewhere(ctx)
	switch {
	case err != nil:
		return Outcome{Reason: "Moving"}, a.unreserved(ctx, a.want, err)
	case !fresh:
		return Outcome{Reason: "Moving", After: engine.Shortly}, nil
	}
	a.row = next
	return a.run(ctx)
}

// beginAnew begins anew for a row whose VM did not come to be, or has vanished: on another
// host where there is one, else on any.
func (a *Attempt) beginAnew(ctx context.Context) (next engine.Row, fresh bool, err error) {
	moved := false
	if a.want.Host == "" && len(a.sites.hosts) > 1 {
		next, fresh, err = a.reserveElsewhere(ctx)
		moved = err == nil
	}
	if !moved {
		next, fresh, err = a.Ledger.Move(ctx, a.row.Attempt+1, a.sites.reservation(a.key, a.want))
	}
	if fresh && next.HostKey != a.row.HostKey {
		a.noteOnHost(ctx, a.row, func(h engine.VMHost) bool { return h.Err != nil }) // only people can look there
	}
	return next, fresh, err
}

// reserveElsewhere reserves room for the next attempt on another host than the row's.
func (a *Attempt) reserveElsewhere(ctx context.Context) (next engine.Row, fresh bool, err error) {
	r := a.sites.reservation(a.key, a.want)
	r.Exclude = []string{a.row.HostKey}
	return a.Ledger.Move(ctx, a.row.Attempt+1, r)
}

// madeAs is the hostname that the VM is composed with. It is another one than the VM's
// name where LXD has an instance of that name (instance.go).
func (a *Attempt) madeAs() string { return cmp.Or(a.row.Name, a.want.Name) }

// trial is one compose, and what a look afterwards has shown.
type trial struct {
	host    engine.VMHost
	machine engine.Machine // that compose has made
	failure error          // of compose; nil: it made the machine
	left    aftermath      // of a failure with a clear answer
}

// verdict is what a trial means for the attempt.
type verdict string

// The verdicts, in the order in which they are asked for.
const (
	composed    verdict = "composed"      // MAAS or LXD made the VM and said so
	notSent     verdict = "not sent"      // the row is another one by now, or another run's
	unclear     verdict = "unclear"       // the reply is lost: the row knows since when
	thereAnyway verdict = "there anyway"  // refused, and the VM is there
	interrupted verdict = "interrupted"   // the caller gives up: the row knows since when
	nameRenamed verdict = "name renamed"  // LXD has the name of a VM that has another one in MAAS
	refused     verdict = "refused"       // for good, or the name is a stranger's
	tryNextHost verdict = "try next host" // refused here, and another host may do better
)

// outcomes says what follows from each verdict. An act that returns again lets the
// attempt go on, with another row.
var outcomes = map[verdict]func(*Attempt, context.Context, trial) (out Outcome, again bool, err error){
	composed:    (*Attempt).take,
	notSent:     (*Attempt).fail,
	unclear:     (*Attempt).fail,
	thereAnyway: (*Attempt).takeAnyway,
	interrupted: (*Attempt).fail,
	nameRenamed: (*Attempt).renameInstance,
	refused:     (*Attempt).giveUp,
	tryNextHost: (*Attempt).nextHost,
}

// run composes where the row says, and goes on as the outcomes say.
func (a *Attempt) run(ctx context.Context) (Outcome, error) {
	for a.hosts = 1; ; a.hosts++ {
		host, ok := a.sites.host(a.row.HostKey)
		if !ok {
			return Outcome{}, fmt.Errorf("the ledger chose VM host %s, which is no candidate for %s: %w", a.row.HostKey, a.want.Name, engine.ErrBusy)
		}
		t := trial{host: host}
		t.machine, t.failure = a.compose(ctx, host)
		v, err := a.judge(ctx, &t)
		if err != nil {
			return Outcome{}, err
		}
		if out, again, err := outcomes[v](a, ctx, t); !again {
			return out, err
		}
	}
}

// isHeld tells that another run has taken the lease, and so the row.
func isHeld(err error) bool {
	_, held := errors.AsType[*engine.HeldError](err)
	return held
}

// judge says what a trial means. Where compose has failed with a clear answer, it looks
// what is there: MAAS says no in the same way before and after LXD has made the instance.
func (a *Attempt) judge(ctx context.Context, t *trial) (verdict, error) {
	switch {
	case t.failure == nil:
		return composed, nil
	case errors.Is(t.failure, engine.ErrBusy), isHeld(t.failure):
		return notSent, nil
	}
	t.failure = notComposedError(a.want.Name, t.host, t.failure)
	if errors.Is(t.failure, engine.ErrUnclear) {
		return unclear, nil
	}
	mayMove := a.want.Host == "" && otherHostMayDo(t.failure) && a.hosts < maxHosts
	if mayMove {
		pauseBeforeLook(ctx)
	}
	var err error
	t.left, err = a.lookAfter(ctx, *t)
	renamed := err == nil && t.left.stranger == nil && a.row.Name == a.want.Name && a.madeThereAs(ctx, t.host, a.want.Name)
	if err == nil && !renamed && !mayMove && nameTakenInLXD(t.failure) {
		err = a.lookOn(ctx, t)
	}
	switch {
	case t.left.ours != nil:
		return thereAnyway, nil
	case ctx.Err() != nil:
		return interrupted, nil
	case err != nil:
		return "", err
	case renamed:
		return nameRenamed, nil
	case t.left.stranger != nil, !mayMove:
		return refused, nil
	}
	return tryNextHost, nil
}
