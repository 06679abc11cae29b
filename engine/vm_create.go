package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// create makes the VM: reserve, compose, read what came back, bind. Whatever
// breaks in between, the next look finds either nothing, or a machine with our
// marker, or a row that says how long to wait before nothing means nothing.
func (v *vms) create(ctx context.Context, key Key, want VMSpec) (Result[VM], error) {
	where, err := v.check(ctx, key, want)
	if err != nil {
		return Result[VM]{}, err
	}
	if err := v.sweepGroup(ctx, want.Placement.Group); err != nil {
		return Result[VM]{}, err
	}
	row, fresh, err := v.Ledger.Place(ctx, where.reservation(key, want))
	if err != nil {
		return Result[VM]{}, v.unreserved(ctx, want, err)
	}
	if row.State == RowLeaving {
		// Of a delete that goes on, or that was cut off: then reconcile drops it.
		return Result[VM]{}, fmt.Errorf("a VM %s is being deleted: %w", want.Name, ErrBusy)
	}
	if !fresh && v.unclear(row) == 0 {
		if row, fresh, err = v.nextAttempt(ctx, where, row, want); err != nil {
			return Result[VM]{}, v.unreserved(ctx, want, err)
		}
	}
	if !fresh {
		return Result[VM]{
			After: min(v.unclear(row), lookForIt), Reason: "ComposeUnclear",
			Message: fmt.Sprintf("the reply to an earlier compose of %s was lost; MAAS may still be at it", want.Name),
		}, nil
	}
	return v.composeOn(ctx, where, row, want)
}

// nextAttempt begins anew for a row whose VM did not come to be, or has
// vanished: on another host where there is one, else on any.
func (v *vms) nextAttempt(ctx context.Context, where sites, row Row, want VMSpec) (next Row, fresh bool, err error) {
	moved := false
	if want.Host == "" && len(where.hosts) > 1 {
		next, fresh, err = v.moveFrom(ctx, where, row, want)
		moved = err == nil
	}
	if !moved {
		next, fresh, err = v.Ledger.Move(ctx, row.Attempt+1, where.reservation(row.Key, want))
	}
	if fresh && next.HostKey != row.HostKey {
		v.noteUnasked(ctx, row)
	}
	return next, fresh, err
}

// noteUnasked notes what the host of a lost compose may hold: where it does not
// answer, only people can look.
func (v *vms) noteUnasked(ctx context.Context, row Row) {
	hosts, err := v.Composer.Hosts(ctx)
	if err != nil {
		return
	}
	for _, h := range hosts {
		if h.HostKey == row.HostKey && h.Err != nil {
			v.leftovers.note(row.Key, mayBeLeft(row.Name, h))
		}
	}
}

// moveFrom begins the next attempt on another host than the row's.
func (v *vms) moveFrom(ctx context.Context, where sites, row Row, want VMSpec) (Row, bool, error) {
	r := where.reservation(row.Key, want)
	r.Exclude = []string{row.HostKey}
	return v.Ledger.Move(ctx, row.Attempt+1, r)
}

// composeOn composes where the row says, and on another of the sites each time
// that one fails.
func (v *vms) composeOn(ctx context.Context, where sites, row Row, want VMSpec) (Result[VM], error) {
	for tried := 1; ; tried++ {
		want.instance = row.Name
		host, ok := where.host(row.HostKey)
		if !ok {
			return Result[VM]{}, fmt.Errorf("the ledger chose VM host %s, which is no candidate for %s: %w", row.HostKey, want.Name, ErrBusy)
		}
		m, failure := v.compose(ctx, host, row, want)
		if failure == nil {
			v.Log.InfoContext(ctx, "composed VM", "name", want.Name, "host", host.Name, "system_id", m.SystemID)
			v.tries.forget(row.Key)
			v.leftovers.drop(row.Key, mayBeLeft(want.madeAs(), host)) // LXD admits a name once
			v.there.Store(m.SystemID, true)
			v.Region.sent.Delete(row.Token)
			return v.composed(ctx, host, row, want, m)
		}
		if errors.Is(failure, ErrBusy) {
			return Result[VM]{}, failure // nothing was sent: the row is another one by now
		}
		failure = notComposed(want.Name, host, failure)
		if errors.Is(failure, ErrUnclear) {
			return Result[VM]{}, failure // the row stays: it knows since when
		}
		mayMove := want.Host == "" && elsewhere(failure) && tried < maxAttempts
		if mayMove {
			settleDown(ctx)
		}
		left, err := v.lookAfter(ctx, host, row, want, failure)
		again := err == nil && left.stranger == nil && row.Name == want.Name && v.madeThereAs(ctx, host, want.Name)
		if err == nil && !again && !mayMove && nameTakenInLXD(failure) {
			left, err = v.lookOn(ctx, host, row, want, failure, left)
		}
		switch {
		case left.ours != nil:
			v.Log.InfoContext(ctx, "compose failed, but the VM is there", "name", want.Name, "system_id", left.ours.SystemID)
			if host.ID != 0 && left.ours.HostID != host.ID {
				v.leftovers.note(row.Key, leftover(want.Name, host))
			} else {
				v.leftovers.drop(row.Key, mayBeLeft(want.madeAs(), host))
			}
			return v.takeOn(ctx, row, want, *left.ours)
		case ctx.Err() != nil:
			return Result[VM]{}, failure // the row stays: it knows since when
		case err != nil:
			return Result[VM]{}, err
		case again:
			newer, next, err := v.madeAnew(ctx, where, host, row, want)
			if IsTerminal(err) {
				err = errors.Join(failure, err)
			}
			if err != nil { // alone where it passes: the failure would end the create for good
				return Result[VM]{}, err
			}
			where, row = newer, next
			continue
		case left.stranger != nil, !mayMove:
			return Result[VM]{}, v.giveUp(ctx, host, row, want, left.stranger, failure)
		}
		// Others' composes may have failed meanwhile, too, and left an instance
		// that only a newer inventory shows.
		v.Names.Refresh(ListHosts)
		newer, err := v.sites(ctx, row.Key, want, []string{host.HostKey})
		if err != nil {
			return Result[VM]{}, v.giveUp(ctx, host, row, want, nil, failure)
		}
		where = newer
		next, fresh, err := v.moveFrom(ctx, where, row, want)
		if err != nil || !fresh {
			return Result[VM]{}, v.giveUp(ctx, host, row, want, nil, failure)
		}
		// MAAS says no in the same way before and after LXD has made the instance.
		v.leftovers.note(row.Key, mayBeLeft(want.madeAs(), host))
		v.Log.InfoContext(ctx, "compose failed, trying another VM host", "name", want.Name, "host", host.Name, "error", failure)
		row = next
	}
}

// settling is how long a failed compose is left alone before another host is
// tried. A host that is busy with the name may be busy with our own VM, for a
// run that died and whose ledger was lost: MAAS shows it when it is done.
const settling = 3 * time.Second

func settleDown(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(settling):
	}
}

// grace is how long a compose, and the look at what it made, may go on after
// the caller's ctx has ended. A run that is interrupted then still learns the
// system id, and can tell its user that there is a VM.
const grace = 10 * time.Second

func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	graced, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return graced, cancel
}

// takeOn marks a VM that is there although its compose failed, also where the
// caller has given up meanwhile: nothing else tells whose it is.
func (v *vms) takeOn(ctx context.Context, row Row, want VMSpec, m Machine) (Result[VM], error) {
	if ctx.Err() != nil {
		graced, cancel := withGrace(ctx)
		defer cancel()
		ctx = graced
	}
	return v.converge(ctx, Ref{Key: row.Key}, want, m)
}

// compose makes the VM and reads it.
func (v *vms) compose(ctx context.Context, host VMHost, row Row, want VMSpec) (Machine, error) {
	unlock, err := v.hosts.share(ctx, host)
	if err != nil {
		return Machine{}, err
	}
	defer unlock()
	c, err := v.composition(ctx, host, row.Key, want)
	if err != nil {
		return Machine{}, err
	}
	c.Left = func(what string) { v.leftovers.note(row.Key, what) }
	// Only from now on can MAAS be at it: the row has waited for others so far.
	c.Begin = func(ctx context.Context) error {
		v.Region.noteSent(row.Token, v.ComposeWindow)
		return v.Ledger.Renew(ctx, row)
	}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	systemID, err := v.Composer.Compose(ctx, host, c)
	if err != nil {
		return Machine{}, err
	}
	m, err := v.Machines.Machine(ctx, systemID)
	if err != nil {
		// The VM is there; the next look finds it by its marker.
		return Machine{}, fmt.Errorf("cannot read the VM %s just composed: %w: %w", systemID, ErrUnclear, err)
	}
	return m, nil
}

// composition is what to ask of the Composer.
func (v *vms) composition(ctx context.Context, host VMHost, key Key, want VMSpec) (Composition, error) {
	c := Composition{
		Hostname: want.madeAs(), Cores: want.Cores, PinnedCores: want.PinnedCores,
		MemoryMiB: want.MemoryMiB, HugePages: want.HugePages,
		Profile: want.Profile, Disks: want.Disks,
		Zone: want.Zone, Pool: want.Pool, Domain: want.Domain,
		Marker: marker(key), Key: key, Description: describe("", key, false),
	}
	if len(host.Architectures) > 0 {
		c.Architecture = host.Architectures[0]
	}
	// MAAS would put the VM into its default zone, wherever the host stands.
	if c.Zone == "" {
		c.Zone = host.Zone
	}
	if c.Pool == "" {
		c.Pool = host.Pool
	}
	for _, i := range want.Interfaces {
		subnet, err := v.subnet(ctx, "interfaces."+i.Name, i.Subnet)
		if err != nil {
			return c, err
		}
		c.Interfaces = append(c.Interfaces, subnet)
	}
	return c, nil
}

// composed takes what compose says it made, if it is what was asked for.
func (v *vms) composed(ctx context.Context, host VMHost, row Row, want VMSpec, m Machine) (Result[VM], error) {
	if m.Hostname != want.madeAs() {
		if err := v.Composer.Decompose(ctx, m.SystemID); err != nil {
			return Result[VM]{}, fmt.Errorf("MAAS composed %s instead of %s, and it cannot be removed: %w", m.Hostname, want.Name, err)
		}
		return Result[VM]{}, errors.Join(v.dropAttempt(ctx, row), &Error{
			Type: VMCreationFailed, Host: host.Name,
			Message: fmt.Sprintf("MAAS composed %s instead of %s; it was removed again", m.Hostname, want.Name),
		})
	}
	return v.converge(ctx, Ref{Key: row.Key}, want, m)
}

func notComposed(name string, host VMHost, failure error) error {
	hint := ""
	if lxd, ok := errors.AsType[*Error](failure); ok {
		hint = lxd.Hint
	}
	if host.ID != 0 { // MAAS leaves what it does not take
		hint = fmt.Sprintf("If MAAS says that it exists, %s: look there, and delete it or choose another name.", leftover(name, host))
	}
	return &Error{
		Type: VMCreationFailed, Host: host.Name, Message: fmt.Sprintf("cannot compose %s", name), Err: failure, Hint: hint,
	}
}

// nameTakenInLXD reports whether a host's LXD has an instance of the name, of which
// nothing more is known. A refusal everywhere knows whose it is.
func nameTakenInLXD(failure error) bool {
	refused, ok := errors.AsType[*Refusal](failure)
	return errors.Is(failure, ErrConflict) && !(ok && refused.Everywhere)
}

// elsewhere reports whether another host may do better: not where the key, the
// MAAS or a wish is at fault that is the same everywhere.
func elsewhere(failure error) bool {
	var refusal FieldError
	refused, ok := errors.AsType[*Refusal](failure)
	switch {
	case ok && refused.Everywhere:
		return false
	case errors.Is(failure, ErrForbidden), errors.Is(failure, ErrGone), errors.Is(failure, ErrNotFound):
		return false
	case late(failure):
		return false
	case !errors.As(failure, &refusal):
		return true
	}
	for _, parameter := range []string{"hostname", "zone", "pool", "domain", "architecture"} {
		if len(refusal.Fields()[parameter]) > 0 {
			return false
		}
	}
	return true
}

// late reports whether MAAS may have refused the compose after LXD had made the
// instance: it then names no parameter, as where it lacks boot images.
func late(failure error) bool {
	var refusal FieldError
	return errors.Is(failure, ErrInvalid) && (!errors.As(failure, &refusal) || len(refusal.Fields()) == 0)
}

// noteRefused notes what a refused compose may have left: MAAS says no in the same way
// before and after LXD has made the instance. What it names a parameter for it refused
// before.
func (v *vms) noteRefused(host VMHost, row Row, want VMSpec, failure error) {
	var refusal FieldError
	early := errors.As(failure, &refusal) && len(refusal.Fields()) > 0 && len(refusal.Fields()["hostname"]) == 0
	if host.ID == 0 || early || errors.Is(failure, ErrForbidden) || errors.Is(failure, ErrGone) || errors.Is(failure, ErrNotFound) {
		return
	}
	v.leftovers.note(row.Key, mayBeLeft(want.madeAs(), host))
}

// giveUp ends an attempt of which nothing is left in MAAS.
func (v *vms) giveUp(ctx context.Context, host VMHost, row Row, want VMSpec, stranger *Machine, failure error) error {
	key := row.Key
	if stranger == nil || stranger.HostID != host.ID {
		v.noteRefused(host, row, want, failure)
	}
	if err := v.forgetTried(ctx, row); err != nil {
		return errors.Join(failure, err)
	}
	switch {
	case stranger != nil && (host.ID == 0 || stranger.HostID == host.ID):
		// LXD admits a name once: there is no other instance; and what was not made
		// by MAAS is removed where MAAS does not take it.
		return taken(want.Name, *stranger, "")
	case stranger != nil:
		// Someone else was faster. MAAS had made our instance by then, and
		// leaves it in LXD.
		return taken(want.Name, *stranger, fmt.Sprintf(" It may be that %s: delete it there.", leftover(want.Name, host)))
	}
	final := false
	if e, ok := errors.AsType[*Error](failure); ok && e.Err != nil && nameTakenInLXD(failure) {
		// This host's LXD has an instance of the name, and refuses it again. MAAS has
		// no machine of it, and another host may do next time.
		final = want.Host != ""
		hint := e.Hint
		if refusal, ok := errors.AsType[*Refusal](failure); ok && hint == "" {
			hint = refusal.Hint
		}
		failure = &Error{Type: e.Type, Host: e.Host, Message: e.Message + ": " + e.Err.Error(), Hint: hint}
	}
	if !v.tries.again(key, maxTries) || final {
		failure = Terminal(failure)
	}
	return refused(failure)
}

// maxTries bounds composes that fail one after the other with a clear answer.
// Wait's pauses between them add up to half a minute, in which what passes by
// itself has passed.
const maxTries = 6
