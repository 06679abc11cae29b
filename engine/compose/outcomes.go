package compose

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// returnFailure passes on why there is no VM, and leaves the row to the next step.
func (a *Attempt) returnFailure(_ context.Context, t composeResult) (Outcome, bool, error) {
	return Outcome{}, false, t.failure
}

// acceptComposed takes what compose says it made, if it is what was asked for.
func (a *Attempt) acceptComposed(ctx context.Context, t composeResult) (Outcome, bool, error) {
	m := t.machine
	a.Log.InfoContext(ctx, "composed VM", "name", a.want.Name, "host", t.host.Name, "system_id", m.SystemID)
	a.failedComposes.Forget(a.key)
	a.leftovers.removeLeftover(a.key, possibleLeftover(a.composeHostname(), t.host)) // LXD admits a name once
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

// acceptDespiteError takes a VM that is there although its compose failed.
func (a *Attempt) acceptDespiteError(ctx context.Context, t composeResult) (Outcome, bool, error) {
	a.Log.InfoContext(ctx, "compose failed, but the VM is there", "name", a.want.Name, "system_id", t.found.ours.SystemID)
	if t.host.LeavesInstances() && t.found.ours.HostID != t.host.ID {
		a.leftovers.noteLeftover(a.key, leftover(a.want.Name, t.host))
	} else {
		a.leftovers.removeLeftover(a.key, possibleLeftover(a.composeHostname(), t.host))
	}
	return Outcome{Machine: *t.found.ours, MadeDespiteError: true}, false, nil
}

// composeUnderNewName makes the VM as another name, which it loses in MAAS once it is there.
func (a *Attempt) composeUnderNewName(ctx context.Context, t composeResult) (Outcome, bool, error) {
	err := a.reserveUnderNewName(ctx, t.host)
	if engine.IsTerminal(err) {
		err = errors.Join(t.failure, err)
	}
	// Alone where it passes: the failure would end the create for good.
	return Outcome{}, err == nil, err
}

// moveToNextHost reserves room on another host. Others' composes may have failed meanwhile,
// too, and left an instance that only a newer inventory shows.
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

// maxFailedComposes bounds composes that fail one after the other with a clear answer.
// Wait's pauses between them add up to half a minute, in which what passes by
// itself has passed.
const maxFailedComposes = 6

// giveUpAttempt ends an attempt of which nothing is left in MAAS, or a stranger that has the
// name.
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
		// LXD admits a name once: there is no other instance; and what was not made
		// by MAAS is removed where MAAS does not take it.
		return Outcome{}, false, NameTakenError(a.want.Name, *stranger, "")
	case stranger != nil:
		// Someone else was faster. MAAS had made our instance by then, and
		// leaves it in LXD.
		return Outcome{}, false, NameTakenError(a.want.Name, *stranger, fmt.Sprintf(" It may be that %s: delete it there.", leftover(a.want.Name, t.host)))
	}
	return Outcome{}, false, a.refusalError(t.failure)
}

// refusalError is the failure of the last compose, for good if another step would fail
// in the same way.
func (a *Attempt) refusalError(failure error) error {
	final := false
	if e, ok := errors.AsType[*engine.Error](failure); ok && e.Err != nil && isNameTakenInLXD(failure) {
		// This host's LXD has an instance of the name, and refuses it again. MAAS has
		// no machine of it, and another host may do next time.
		final = a.want.Host != ""
		hint := e.Hint
		if refusal, ok := errors.AsType[*engine.Refusal](failure); ok && hint == "" {
			hint = refusal.Hint
		}
		failure = &engine.Error{Type: e.Type, Host: e.Host, Message: e.Message + ": " + e.Err.Error(), Hint: hint}
	}
	if !a.failedComposes.CountBelow(a.key, maxFailedComposes) || final {
		failure = engine.MarkTerminal(failure)
	}
	return engine.AsSpecErrors(failure)
}

// composeLookPause is how long a failed compose is left alone before another host is
// tried. A host that is busy with the name may be busy with our own VM, for a
// run that died and whose ledger was lost: MAAS shows it when it is done.
const composeLookPause = 3 * time.Second

func pauseBeforeLook(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(composeLookPause):
	}
}

func notComposedError(name string, host engine.VMHost, failure error) error {
	hint := ""
	if lxd, ok := errors.AsType[*engine.Error](failure); ok {
		hint = lxd.Hint
	}
	if host.LeavesInstances() {
		hint = fmt.Sprintf("If MAAS says that it exists, %s: look there, and delete it or choose another name.", leftover(name, host))
	}
	return &engine.Error{
		Type: engine.VMCreationFailed, Host: host.Name, Message: fmt.Sprintf("cannot compose %s", name), Err: failure, Hint: hint,
	}
}

// isNameTakenInLXD reports whether a host's LXD has an instance of the name, of which
// nothing more is known. A refusal everywhere knows whose it is.
func isNameTakenInLXD(failure error) bool {
	refusal, ok := errors.AsType[*engine.Refusal](failure)
	return errors.Is(failure, engine.ErrConflict) && !(ok && refusal.Everywhere)
}

// canOtherHostSucceed reports whether another host may do better: not where the key, the
// MAAS or a wish is at fault that is the same everywhere.
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
// instance: it then names no parameter, as where it lacks boot images.
func isLateRefusal(failure error) bool {
	var complaint engine.FieldError
	return errors.Is(failure, engine.ErrInvalid) && (!errors.As(failure, &complaint) || len(complaint.Fields()) == 0)
}
