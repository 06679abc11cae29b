package compose

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// returnFailure returns why there is no VM, and leaves the row to the next step.
func (a *Attempt) returnFailure(_ context.Context, t composeResult) (Outcome, bool, error) {
	return Outcome{}, false, t.failure
}

// acceptComposed accepts the machine that compose reports, if it has the requested name.
func (a *Attempt) acceptComposed(ctx context.Context, t composeResult) (Outcome, bool, error) {
	m := t.machine
	a.Log.InfoContext(ctx, "composed VM", "name", a.want.Name, "host", t.host.Name, "system_id", m.SystemID)
	a.failedComposes.Forget(a.key)
	a.leftovers.removeLeftover(a.key, possibleLeftover(a.composeHostname(), t.host)) // LXD allows a name once
	a.region.ForgetComposeSent(a.row.Token)
	if m.Hostname == a.composeHostname() {
		return Outcome{Machine: m}, false, nil
	}
	if err := a.Composer.Decompose(ctx, m.SystemID); err != nil {
		return Outcome{}, false, fmt.Errorf("MAAS composed %s instead of %s, and it cannot be removed: %w", m.Hostname, a.want.Name, err)
	}
	return Outcome{}, false, errors.Join(a.dropPlacedRow(ctx, a.row), &engine.Error{
		Type: engine.VMCreationFailed, Host: t.host.Name,
		Message: fmt.Sprintf("MAAS composed %s instead of %s; it was removed again", m.Hostname, a.want.Name),
	})
}

// acceptDespiteError accepts a VM that exists although its compose failed.
func (a *Attempt) acceptDespiteError(ctx context.Context, t composeResult) (Outcome, bool, error) {
	a.Log.InfoContext(ctx, "compose failed, but the VM exists", "name", a.want.Name, "system_id", t.found.ours.SystemID)
	if t.host.LeavesInstances() && t.found.ours.HostID != t.host.ID {
		a.leftovers.noteLeftover(a.key, leftover(a.want.Name, t.host))
	} else {
		a.leftovers.removeLeftover(a.key, possibleLeftover(a.composeHostname(), t.host))
	}
	return Outcome{Machine: *t.found.ours, MadeDespiteError: true}, false, nil
}

// composeUnderNewName makes the VM with another instance name. It gets its real name in MAAS
// once it exists.
func (a *Attempt) composeUnderNewName(ctx context.Context, t composeResult) (Outcome, bool, error) {
	err := a.reserveUnderNewName(ctx, t.host)
	if engine.IsTerminal(err) {
		err = errors.Join(t.failure, err)
	}
	// The failure of compose is left out here: it would end the create for good.
	return Outcome{}, err == nil, err
}

// moveToNextHost reserves room on another host. Composes of other runs may have failed
// meanwhile, too, and left an instance that only a newer inventory shows.
func (a *Attempt) moveToNextHost(ctx context.Context, t composeResult) (Outcome, bool, error) {
	former := a.composeHostname()
	a.Names.Refresh(engine.ListHosts)
	newer, err := a.FindSites(ctx, a.key, a.want, []string{t.host.HostKey})
	if err != nil {
		return a.giveUpAttempt(ctx, t)
	}
	a.sites = newer
	next, fresh, err := a.reserveOnOtherHost(ctx)
	if err != nil || !fresh {
		return a.giveUpAttempt(ctx, t)
	}
	a.row = next
	a.leftovers.noteLeftover(a.key, possibleLeftover(former, t.host))
	a.Log.InfoContext(ctx, "compose failed, trying another VM host", "name", a.want.Name, "host", t.host.Name, "error", t.failure)
	return Outcome{}, true, nil
}

// maxFailedComposes is the limit of composes that fail one after the other with a clear answer.
// WaitUntilDone's pauses between them add up to half a minute, in which temporary problems end.
const maxFailedComposes = 6

// giveUpAttempt ends an attempt that left nothing in MAAS, or whose name a stranger has.
func (a *Attempt) giveUpAttempt(ctx context.Context, t composeResult) (Outcome, bool, error) {
	stranger := t.found.stranger
	if stranger == nil || stranger.HostID != t.host.ID {
		a.noteRefusedLeftover(t)
	}
	if err := a.dropFailedRow(ctx, a.row); err != nil {
		return Outcome{}, false, errors.Join(t.failure, err)
	}
	switch {
	case stranger != nil && (!t.host.LeavesInstances() || stranger.HostID == t.host.ID):
		// LXD allows a name once, so there is no other instance. And this program removes an
		// instance that it made and that MAAS does not accept.
		return Outcome{}, false, NameTakenError(a.want.Name, *stranger, "")
	case stranger != nil:
		// Someone else was faster. MAAS had made our instance by then, and leaves it in LXD.
		return Outcome{}, false, NameTakenError(a.want.Name, *stranger, fmt.Sprintf(" If %s, delete it there.", leftover(a.want.Name, t.host)))
	}
	if err := a.detachedError(ctx, t); err != nil {
		return Outcome{}, false, err
	}
	return Outcome{}, false, a.refusalError(t.failure)
}

// detachedError says which interface is on a subnet that the host has left since the check. MAAS's
// refusal names no parameter. It is nil if the refusal is about anything else.
func (a *Attempt) detachedError(ctx context.Context, t composeResult) error {
	if !isLateRefusal(t.failure) {
		return nil
	}
	a.networks.dropOlderThan(0)
	err := a.CheckNetworks(ctx, t.host, a.want.Interfaces)
	if _, detached := errors.AsType[*engine.SpecError](err); detached {
		return err
	}
	return nil
}

// refusalError is the failure of the last compose. It is terminal if another step would fail in
// the same way.
func (a *Attempt) refusalError(failure error) error {
	final := false
	if e, ok := errors.AsType[*engine.Error](failure); ok && e.Err != nil && isNameTakenInLXD(failure) {
		// This host's LXD has an instance of the name, and refuses it again. MAAS has no
		// machine of it, and another host may succeed next time.
		final = a.want.Host != ""
		hint, ways := e.Hint, e.Ways
		if refusal, ok := errors.AsType[*engine.Refusal](failure); ok && hint == "" {
			hint, ways = refusal.Hint, refusal.Ways
		}
		failure = &engine.Error{Type: e.Type, Host: e.Host, Message: e.Message + ": " + e.Err.Error(), Hint: hint, Ways: ways}
	}
	if !a.failedComposes.CountBelow(a.key, maxFailedComposes) || final {
		failure = engine.MarkTerminal(failure)
	}
	return engine.AsSpecErrors(failure)
}

// composeLookPause is the pause after a failed compose before another host is tried. A host
// that is busy with the name may be making our own VM, for a run that died and whose ledger is
// lost. MAAS shows the VM when it is made.
const composeLookPause = 3 * time.Second

func pauseBeforeLook(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(composeLookPause):
	}
}

func notComposedError(name string, host engine.VMHost, failure error) error {
	hint, ways := "", []engine.Way(nil)
	if lxd, ok := errors.AsType[*engine.Error](failure); ok {
		hint, ways = lxd.Hint, lxd.Ways
	}
	if host.LeavesInstances() {
		ways = nil
		hint = fmt.Sprintf("If MAAS says that the name exists, then %s: look there, and delete it or choose another name.", leftover(name, host))
	}
	return &engine.Error{
		Type: engine.VMCreationFailed, Host: host.Name, Message: fmt.Sprintf("cannot compose %s", name), Err: failure, Hint: hint, Ways: ways,
	}
}

// isNameTakenInLXD reports whether a host's LXD has an instance of the name, of unknown origin.
// A refusal that counts everywhere knows whose it is.
func isNameTakenInLXD(failure error) bool {
	refusal, ok := errors.AsType[*engine.Refusal](failure)
	return errors.Is(failure, engine.ErrConflict) && !(ok && refusal.Everywhere)
}

// canOtherHostSucceed reports whether another host may succeed. It cannot if the cause is the
// API key, the MAAS, or a part of the spec that fails on every host.
func canOtherHostSucceed(failure error) bool {
	var complaint engine.FieldError
	refusal, ok := errors.AsType[*engine.Refusal](failure)
	switch {
	case ok && refusal.Everywhere:
		return false
	case errors.Is(failure, engine.ErrForbidden), errors.Is(failure, engine.ErrGone), errors.Is(failure, engine.ErrNotFound):
		return false
	case isLateRefusal(failure):
		return false
	case !errors.As(failure, &complaint):
		return true
	}
	for _, parameter := range []string{"hostname", "zone", "pool", "domain", "architecture"} {
		if len(complaint.Fields()[parameter]) > 0 {
			return false
		}
	}
	return true
}

// isLateRefusal reports whether MAAS may have refused the compose after LXD had made the
// instance. Such a refusal names no parameter, for example where boot images are missing.
func isLateRefusal(failure error) bool {
	var complaint engine.FieldError
	return errors.Is(failure, engine.ErrInvalid) && (!errors.As(failure, &complaint) || len(complaint.Fields()) == 0)
}
