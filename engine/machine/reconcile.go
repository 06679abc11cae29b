package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
)

// Preparation is what the kind Host adds to the kind Machine.
type Preparation struct {
	// Check says why a machine cannot meet the spec, before it is taken. If another machine may
	// do, the error is a *SpecError.
	Check func(context.Context, engine.Machine) error
	// PrepareNetwork prepares the allocated machine.
	PrepareNetwork func(context.Context, engine.Machine) (engine.Machine, error)
	// CompleteDeployment completes the deployment of the machine. The machine is zero before
	// one is chosen.
	CompleteDeployment func(engine.Machine) (*engine.Deployment, error)
	// AdoptionData is owner data that a Deployed machine without marks gets together with its mark.
	// If the run is killed then, the next one still knows them.
	AdoptionData map[string]string
}

// ownerDataToMark is the owner data that marks a Deployed machine without any.
func (p Preparation) ownerDataToMark(key engine.Key, state string) map[string]string {
	data := map[string]string{engine.KeyData: string(key), engine.StateData: state}
	maps.Copy(data, p.AdoptionData)
	return data
}

// bareMetalPreparation is the preparation of a machine that is no host. It removes what an
// interrupted host left on the interfaces.
func (b *Kind) bareMetalPreparation(want engine.MachineSpec) Preparation {
	return Preparation{
		Check:              func(context.Context, engine.Machine) error { return nil },
		PrepareNetwork:     b.RestoreNetwork,
		CompleteDeployment: func(engine.Machine) (*engine.Deployment, error) { return want.Deploy, nil },
	}
}

// reconcile implements Kind.Reconcile.
func (b *Kind) reconcile(ctx context.Context, ref engine.Ref, want engine.MachineSpec) (engine.Result[engine.BareMetal], error) {
	b.leaveName(ref, ref.CurrentKey())
	if res, waits := b.waitForName(ref, want, nil); waits {
		return res, nil
	}
	res, err := b.ReconcileStep(ctx, ref, want, b.bareMetalPreparation(want))
	if res, waits := b.waitForName(ref, want, err); waits {
		return res, nil
	}
	if err == nil && res.Done {
		res, err = b.reconcileInPlace(ctx, ref, want, res)
	}
	if _, waits := errors.AsType[*inplace.NameWaitError](err); waits && res.SystemID != "" {
		res.GiveUp = b.updater.GiveUpRename(res.SystemID, ref.CurrentKey())
	}
	return waitForHostname(res, err)
}

// ReconcileStep takes the machine one step towards the spec. Done means that it has reached the
// spec; the caller must mark it as finished.
func (b *Kind) ReconcileStep(ctx context.Context, ref engine.Ref, want engine.MachineSpec, prepare Preparation) (engine.Result[engine.BareMetal], error) {
	if err := want.Validate(); err != nil {
		return engine.Result[engine.BareMetal]{}, err
	}
	look := b.FindMachine
	if ref.SystemID == "" {
		look = b.findOnlyMachine
	}
	m, err := look(ctx, ref)
	switch {
	case errors.Is(err, engine.ErrNotFound) && ref.SystemID != "":
		return engine.Result[engine.BareMetal]{}, engine.MarkTerminal(err) // a machine's record does not come back
	case errors.Is(err, engine.ErrNotFound) && want.Adopt:
		return b.adopt(ctx, ref.Key, want, prepare)
	case errors.Is(err, engine.ErrNotFound):
		m, err = b.takeMachine(ctx, ref.Key, want, prepare)
	case err == nil && ref.SystemID == "" && (AsBareMetal(m, ref.Key).Finished || hasLostItsMarks(m)):
		return engine.Result[engine.BareMetal]{}, alreadyFinishedError(m)
	}
	if err != nil {
		return engine.Result[engine.BareMetal]{}, err
	}
	res, err := b.reconcilePhase(ctx, ref, want, m, prepare)
	if err != nil && res.SystemID == "" {
		res = resultOf(ref.Key, m)
	}
	return res, err
}

// takeMachine takes a machine, after a check that there is something to install.
func (b *Kind) takeMachine(ctx context.Context, key engine.Key, want engine.MachineSpec, prepare Preparation) (engine.Machine, error) {
	if _, err := prepare.CompleteDeployment(engine.Machine{}); err != nil {
		return engine.Machine{}, err
	}
	if err := b.CheckDeployment(ctx, want.Deploy); err != nil {
		return engine.Machine{}, err
	}
	if err := b.updater.CheckNames(ctx, b.updater.NamesOf(want.InPlaceSettings)); err != nil {
		return engine.Machine{}, err
	}
	holders, err := b.findHostnameHolders(ctx, want)
	if err == nil {
		err = b.checkRenamedMachine(ctx, want, holders)
	}
	if err == nil {
		err = b.checkHostnameHolders(key, want, holders)
	}
	if err != nil {
		return engine.Machine{}, err
	}
	wishes, err := b.claimAddresses(ctx, key, want)
	if err != nil {
		return engine.Machine{}, err
	}
	m, err := b.allocate(ctx, key, want, prepare.withAddresses(wishes).withHostname(want, holders))
	if err != nil {
		b.claims.Forget(key)
	}
	return m, err
}

// withAddresses also requires that the machine can have the addresses.
func (p Preparation) withAddresses(wishes []addressWish) Preparation {
	fits := p.Check
	p.Check = func(ctx context.Context, m engine.Machine) error {
		if err := fits(ctx, m); err != nil {
			return err
		}
		return checkAddresses(wishes, m)
	}
	return p
}

// reconcilePhase does the one thing that the phase needs. A machine that was finished once is
// only reported, in any state.
func (b *Kind) reconcilePhase(ctx context.Context, ref engine.Ref, want engine.MachineSpec, m engine.Machine, prepare Preparation) (engine.Result[engine.BareMetal], error) {
	if ref.Finished || AsBareMetal(m, ref.Key).Finished {
		return b.doneResult(ref.Key, m), nil
	}
	if want.Adopt {
		return b.markAdopted(ctx, ref.Key, want, m, prepare)
	}
	act := actionsIn(situationOf(m)).reconcile
	if act.onlyOurs {
		mine, err := b.IsMine(ctx, ref.Key, m)
		switch {
		case err != nil:
			return engine.Result[engine.BareMetal]{}, err
		case !mine:
			return engine.Result[engine.BareMetal]{}, engine.NotOursError(m, "use")
		}
	}
	return act.step(b, ctx, ref.Key, want, m, prepare)
}

// awaitChange waits until the machine changes.
func (b *Kind) awaitChange(ctx context.Context, key engine.Key, _ engine.MachineSpec, m engine.Machine, _ Preparation) (engine.Result[engine.BareMetal], error) {
	return b.waitResult(ctx, key, m), nil
}

// finish ends the making of a machine. The caller must mark it as finished. If somebody deleted
// its owner data by hand, it gets them again.
func (b *Kind) finish(ctx context.Context, key engine.Key, want engine.MachineSpec, m engine.Machine, prepare Preparation) (engine.Result[engine.BareMetal], error) {
	m, err := b.clearFailure(ctx, m)
	if _, isMarked := m.OwnerData[engine.KeyData]; !isMarked && err == nil {
		m, err = b.annotateUnlocked(ctx, wantedSettingsOf(key, want), m, prepare.ownerDataToMark(key, engine.StateInProgress))
	}
	return b.doneResult(key, m), err
}

// reportFailure says why a machine was not deployed. The machine is left for people to look at.
func (b *Kind) reportFailure(ctx context.Context, _ engine.Key, want engine.MachineSpec, m engine.Machine, _ Preparation) (engine.Result[engine.BareMetal], error) {
	return engine.Result[engine.BareMetal]{}, b.failedError(ctx, m, want.Deploy.Secrets()...)
}

// allocateAgain allocates a machine of ours that was released since.
func (b *Kind) allocateAgain(ctx context.Context, key engine.Key, want engine.MachineSpec, m engine.Machine, _ Preparation) (engine.Result[engine.BareMetal], error) {
	if err := b.layOutDisks(ctx, m, want.Deploy); err != nil {
		return engine.Result[engine.BareMetal]{}, err
	}
	if err := b.Metal.Allocate(ctx, m.SystemID, engine.MarkerOf(key)); err != nil {
		return engine.Result[engine.BareMetal]{}, fmt.Errorf("cannot allocate %s: %w", m.Hostname, b.RecheckRefusal(ctx, m, err))
	}
	res := resultOf(key, m)
	res.Reason, res.Message = "Allocated", m.Hostname+" is allocated again"
	return res, nil
}

func (b *stepBase) doneResult(key engine.Key, m engine.Machine) engine.Result[engine.BareMetal] {
	res := resultOf(key, m)
	res.Done = true
	return res
}

func (b *stepBase) waitResult(ctx context.Context, key engine.Key, m engine.Machine) engine.Result[engine.BareMetal] {
	res := resultOf(key, m)
	res.After = engine.FallbackPollInterval
	res.Changed = b.Machines.WatchChange(ctx, m)
	return res
}

// install deploys an allocated machine, or leaves it Allocated.
func (b *Kind) install(ctx context.Context, key engine.Key, want engine.MachineSpec, m engine.Machine, prepare Preparation) (engine.Result[engine.BareMetal], error) {
	m, err := b.Annotate(ctx, m, map[string]string{engine.KeyData: string(key), engine.StateData: engine.StateInProgress})
	if err != nil {
		return engine.Result[engine.BareMetal]{}, err
	}
	if m, err = b.updateSettings(ctx, wantedSettingsOf(key, want), m); err != nil {
		return engine.Result[engine.BareMetal]{}, err
	}
	if m, err = prepare.PrepareNetwork(ctx, m); err != nil {
		return engine.Result[engine.BareMetal]{}, err
	}
	if m, err = b.setFixedAddresses(ctx, key, want, m); err != nil {
		return engine.Result[engine.BareMetal]{}, err
	}
	what, err := prepare.CompleteDeployment(m)
	switch {
	case err != nil:
		return engine.Result[engine.BareMetal]{}, err
	case what == nil:
		return b.doneResult(key, m), nil
	}
	if err := b.CheckDeployment(ctx, what); err != nil {
		return engine.Result[engine.BareMetal]{}, err
	}
	if what.MustDisableSwap(m) {
		if err := b.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{SwapBytes: new(int64)}); err != nil {
			return engine.Result[engine.BareMetal]{}, fmt.Errorf("cannot tell MAAS to make no swap on %s: %w", m.Hostname, b.RecheckRefusal(ctx, m, err))
		}
	}
	if err := b.Machines.Deploy(ctx, m.SystemID, *what); err != nil {
		return engine.Result[engine.BareMetal]{}, fmt.Errorf("cannot deploy %s: %w", m.Hostname, b.RecheckRefusal(ctx, m, engine.AsSpecErrors(err)))
	}
	b.Log.InfoContext(ctx, "deploying machine", "name", m.Hostname, "system_id", m.SystemID, "image", what.Image)
	return b.waitResult(ctx, key, m.WithStatus(engine.StatusDeploying)), nil
}

// adopt finds a machine to take as it is.
func (b *Kind) adopt(ctx context.Context, key engine.Key, want engine.MachineSpec, prepare Preparation) (engine.Result[engine.BareMetal], error) {
	m, err := b.FindNamed(ctx, want.Machine)
	switch {
	case err != nil:
		return engine.Result[engine.BareMetal]{}, err
	case engine.Key(m.OwnerData[engine.KeyData]) == key && AsBareMetal(m, key).Finished:
		return engine.Result[engine.BareMetal]{}, alreadyFinishedError(m)
	}
	return b.markAdopted(ctx, key, want, m, prepare)
}

// markAdopted puts the key's mark on a Deployed machine that someone else installed.
func (b *Kind) markAdopted(ctx context.Context, key engine.Key, want engine.MachineSpec, m engine.Machine, prepare Preparation) (engine.Result[engine.BareMetal], error) {
	switch owner := m.OwnerData[engine.KeyData]; {
	case owner != "" && engine.Key(owner) != key:
		return engine.Result[engine.BareMetal]{}, engine.NotOursError(m, "adopt")
	case m.Status.Phase() == engine.PhaseDeploying:
		return b.waitResult(ctx, key, m), nil
	case m.Status.Phase() != engine.PhaseDeployed:
		return engine.Result[engine.BareMetal]{}, &engine.SpecError{
			Field: fieldpath.New("machine"), Message: fmt.Sprintf("machine %s (%s) is %s", m.Hostname, m.SystemID, m.StatusName),
			Hint: "Only a Deployed machine can be adopted.", Err: engine.ErrConflict,
		}
	}
	if m.OwnerData[engine.StateData] == engine.StateInProgress { // we have installed it
		return b.doneResult(key, m), nil
	}
	m, err := b.annotateUnlocked(ctx, wantedSettingsOf(key, want), m, prepare.ownerDataToMark(key, want.UnfinishedState()))
	if err != nil {
		return resultOf(key, m), err // it may carry our mark now
	}
	return b.doneResult(key, m), nil
}

// Annotate sets owner data that differ, and returns the machine with them.
func (b *stepBase) Annotate(ctx context.Context, m engine.Machine, data map[string]string) (engine.Machine, error) {
	missing, after := map[string]string{}, map[string]string{}
	for key, value := range m.OwnerData {
		after[key] = value
	}
	for key, value := range data {
		if after[key] != value {
			missing[key], after[key] = value, value
		}
		if value == "" {
			delete(after, key)
		}
	}
	if len(missing) == 0 {
		return m, nil
	}
	if err := b.Metal.Annotate(ctx, m.SystemID, missing); err != nil {
		return m, fmt.Errorf("cannot annotate %s: %w", m.Hostname, b.RecheckRefusal(ctx, m, err))
	}
	m.OwnerData = after
	return m, nil
}

// failedError says in MAAS's words why a machine was not deployed, or not released.
func (b *stepBase) failedError(ctx context.Context, m engine.Machine, secrets ...string) error {
	return &engine.Refusal{
		Message:  fmt.Sprintf("machine %s %s", m.Hostname, engine.EndStateText(m, b.Reports, secrets...)),
		Hint:     fmt.Sprintf("See the events of machine %s in MAAS. The machine stays as it is, so that you can look at it.", m.SystemID),
		Ways:     []engine.Way{engine.WayDeleteToRelease},
		Err:      engine.ErrConflict,
		Evidence: b.region.Failures.Evidence(ctx, b.Config, m, secrets...),
	}
}
