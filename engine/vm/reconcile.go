package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
	"github.com/maaslxd/maaslxd/engine/inplace"
	"github.com/maaslxd/maaslxd/engine/region"
)

// reconcile implements Kind.Reconcile.
func (v *Kind) reconcile(ctx context.Context, ref engine.Ref, want engine.VMSpec) (engine.Result[engine.VM], error) {
	at, err := v.maker.FollowMovedVM(ctx, ref)
	if err != nil {
		return engine.Result[engine.VM]{}, err
	}
	res, err := v.reconcileStep(ctx, at, want)
	wait, awaitsName := errors.AsType[*inplace.NameWaitError](err)
	if awaitsName {
		res.After, res.Reason, res.Message, err = region.NamePollInterval, "WaitingForName", wait.Error(), nil
	}
	res.Moved = res.Moved || at.SystemID != ref.SystemID && res.SystemID == ""
	if res.Done { // the disks' pools, as a later look shows them
		res.Object.Machine = v.Composer.CompleteMachine(ctx, res.Object.Machine)
	}
	v.fillHostName(ctx, &res.Object.Machine)
	res.GiveUp = v.giveUpFunc(want, res, err)
	if awaitsName && res.SystemID != "" {
		res.GiveUp = joinGiveUps(v.updater.GiveUpRename(res.SystemID, ref.CurrentKey()), res.GiveUp)
	}
	res.Object.Leftover = v.maker.Leftover(ref.Key)
	if res.Done || err != nil && res.SystemID == "" && !errors.Is(err, engine.ErrUnclear) {
		v.region.Claims.Forget(ref.Key)
	}
	return res, err
}

// joinGiveUps returns a function that calls both; the second may be nil.
func joinGiveUps(first, second func(context.Context) error) func(context.Context) error {
	if second == nil {
		return first
	}
	return func(ctx context.Context) error { return errors.Join(first(ctx), second(ctx)) }
}

// fillHostName fills in the host of a VM if MAAS does not tell it. If nobody knows it, it stays
// empty.
func (v *Kind) fillHostName(ctx context.Context, m *engine.Machine) {
	if m.SystemID == "" || m.HostName != "" {
		return
	}
	if host, err := v.Composer.HostOf(ctx, *m); err == nil {
		m.HostName = host.Name
	}
}

func (v *Kind) reconcileStep(ctx context.Context, ref engine.Ref, want engine.VMSpec) (engine.Result[engine.VM], error) {
	if err := want.Validate(); err != nil {
		return engine.Result[engine.VM]{}, err
	}
	if ref.Name == "" {
		ref.Name = want.Name
	}
	m, stranger, err := v.maker.FindVM(ctx, ref)
	if err == nil {
		if res, ended, err := v.finishInterruptedDelete(ctx, ref, want, m); ended {
			return res, err
		}
	}
	switch {
	case err == nil && ref.SystemID == "":
		return v.resume(ctx, ref, want, m)
	case err == nil:
		return v.converge(ctx, ref, want, m)
	case !errors.Is(err, engine.ErrNotFound):
		return engine.Result[engine.VM]{}, err
	case ref.SystemID != "":
		return engine.Result[engine.VM]{}, engine.MarkTerminal(err)
	case stranger != nil && stranger.Hostname != want.Name:
		if err := v.dropRowOfFormerName(ctx, ref.Key, *stranger); err != nil {
			return engine.Result[engine.VM]{}, err
		}
		return engine.Result[engine.VM]{After: region.NamePollInterval, Reason: "NameIsFree", Message: fmt.Sprintf("the VM %s was made as %s, and has another name now", stranger.SystemID, want.Name)}, nil
	case stranger != nil:
		if wait := v.updater.CheckNameWait(wantedSettingsOf(ref.Key, want), *stranger); wait != nil {
			return engine.Result[engine.VM]{}, wait
		}
		return engine.Result[engine.VM]{}, v.maker.AbandonCreate(ctx, ref.Key, compose.NameTakenError(want.Name, *stranger, ""))
	}
	res, err := v.create(ctx, ref.Key, want)
	if err != nil && res.SystemID == "" {
		err = v.maker.AbandonCreate(ctx, ref.Key, err)
	}
	return res, err
}

// create makes the VM, after a look in MAAS for everything that its spec names.
func (v *Kind) create(ctx context.Context, key engine.Key, want engine.VMSpec) (engine.Result[engine.VM], error) {
	on, err := v.checkSpec(ctx, key, want)
	if err != nil {
		return engine.Result[engine.VM]{}, err
	}
	out, err := v.maker.NewAttempt(key, want).MakeVM(ctx, on)
	return v.continueAttempt(ctx, key, want, out, err)
}

// continueAttempt continues with the outcome of an attempt: it binds and marks the VM. It does
// so even if the caller gave up while a failed compose made the VM after all: nothing else
// tells whose it is then.
func (v *Kind) continueAttempt(ctx context.Context, key engine.Key, want engine.VMSpec, out compose.Outcome, err error) (engine.Result[engine.VM], error) {
	if err != nil || !out.HasVM() {
		return engine.Result[engine.VM]{After: out.After, Reason: out.Reason, Message: out.Message}, err
	}
	if !out.MadeDespiteError {
		v.seenInstances.Store(out.Machine.SystemID, true)
	}
	if out.MadeDespiteError && ctx.Err() != nil {
		graced, cancel := engine.WithGrace(ctx)
		defer cancel()
		ctx = graced
	}
	return v.converge(ctx, engine.Ref{Key: key}, want, out.Machine)
}

// converge takes an existing VM one step towards the spec.
func (v *Kind) converge(ctx context.Context, ref engine.Ref, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	key, hasBirthMark := ref.CurrentKey(), engine.CarriesBirthMark(m, ref.Key)
	if err := takenOverError("change", ref, m); err != nil {
		return resultOf(key, m), err
	}
	if err := v.checkReinstall(ctx, want, m); err != nil {
		return resultOf(key, m), err
	}
	m.HugePages = want.HugePages // MAAS does not tell it, and the ledger counts it
	if key == ref.Key {
		if err := v.maker.BindVM(ctx, key, want.Placement.Group, m); err != nil {
			return resultOf(key, m), err
		}
	}
	before, finished := m, v.isFinished(ref, want, m)
	m, err := v.updateSettings(ctx, key, want, m, finished)
	if err == nil {
		err = v.moveRowToNewKey(ctx, ref, want.Placement.Group, m)
	}
	switch {
	case err != nil && before.Locked:
		return resultOf(key, m), v.updater.RelockAfterFailure(ctx, wantedSettingsOf(key, want), m, err)
	case err != nil:
		return resultOf(key, m), err
	case finished:
		return v.reconcileFinished(ctx, key, want, m)
	}
	res, err := actionsIn(v.situationToReconcile(want, m, hasBirthMark)).reconcile.step(v, ctx, key, want, m)
	if err != nil && res.SystemID == "" && !res.Moved { // a VM that moves no longer exists
		res = resultOf(key, m)
	}
	return res, err
}

// reconcileFinished keeps the annotations, the interfaces, the size, the power and the lock of
// a finished VM as wanted. The VM once reached its spec. Anything else that changed since is
// left to people, or to the plan of a front end.
func (v *Kind) reconcileFinished(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	m, err := v.updater.ReconcileAnnotations(ctx, wantedSettingsOf(key, want), m)
	settled := err == nil
	if settled {
		m, err = v.changeInstance(ctx, key, want, m)
		m, settled, err = v.stopIfNeeded(ctx, want, m, err)
	}
	if settled && err == nil {
		m, settled, err = v.reconcilePower(ctx, want, m)
	}
	switch {
	case err != nil:
		return resultOf(key, m), v.updater.RelockAfterFailure(ctx, wantedSettingsOf(key, want), m, err)
	case !settled:
		res := v.waitResult(ctx, key, m)
		res.Reason, res.Message = "ChangingPower", m.Hostname+" is being turned off or on"
		return res, nil
	}
	m, err = v.updater.ReconcileLock(ctx, wantedSettingsOf(key, want), m)
	res := resultOf(key, m)
	res.Done = err == nil
	return res, err
}

// isFinished reports whether the VM once reached its spec. Either the caller knows it, or the
// VM is marked so and no newer installation is wanted.
func (v *Kind) isFinished(ref engine.Ref, want engine.VMSpec, m engine.Machine) bool {
	_, finished := engine.MarkerIn(m.Description)
	return ref.Finished || finished && !needsInstallation(want, m) && !lacksInstallation(want, m) && !v.needsReinstall(want, m)
}

func resultOf(key engine.Key, m engine.Machine) engine.Result[engine.VM] {
	return engine.Result[engine.VM]{
		Object: compose.AsVM(m, key), SystemID: m.SystemID,
		Reason: strings.ReplaceAll(m.StatusName, " ", ""), Message: m.StatusMessage,
	}
}

// awaitChange waits until the machine changes.
func (v *Kind) awaitChange(ctx context.Context, key engine.Key, _ engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	return v.waitResult(ctx, key, m), nil
}

// reportFailure says why a VM was not made. The VM is left for people to look at. The next
// caller that wants the failed installation tries again.
func (v *Kind) reportFailure(ctx context.Context, _ engine.Key, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	v.releases.Delete(releaseKey(want, m))
	return engine.Result[engine.VM]{}, v.failedError(ctx, want, m)
}

func (v *stepBase) waitResult(ctx context.Context, key engine.Key, m engine.Machine) engine.Result[engine.VM] {
	res := resultOf(key, m)
	res.After = engine.FallbackPollInterval
	res.Changed = v.Machines.WatchChange(ctx, m)
	return res
}

// needsInstallation reports whether the VM still needs its installation.
func needsInstallation(want engine.VMSpec, m engine.Machine) bool {
	phase := m.Status.Phase()
	return want.Deploy != nil && (phase == engine.PhaseReady || phase == engine.PhaseAllocated)
}
