package engine

import (
	"context"
	"errors"
	"fmt"
)

// Validate checks what can be checked without asking MAAS. The error is a
// *SpecError.
func (s MachineSpec) Validate() error {
	switch {
	case s.Adopt && s.Machine == "":
		return &SpecError{Field: "machine", Message: "only a machine that is named can be adopted", Hint: "Give its hostname, FQDN or system id."}
	}
	return errors.Join(s.validateAddresses(), s.Deploy.validate())
}

// preparation is what the kind Host adds to the kind Machine.
type preparation struct {
	// fits says why a machine cannot become what is wanted, before it is taken.
	// What another machine may mend is a *SpecError.
	fits func(context.Context, Machine) error
	// network prepares the allocated machine.
	network func(context.Context, Machine) (Machine, error)
	// deployment completes what is to be installed on the machine, which is zero
	// before one is chosen.
	deployment func(Machine) (*Deployment, error)
}

func bare(want MachineSpec) preparation {
	return preparation{
		fits:       func(context.Context, Machine) error { return nil },
		network:    func(_ context.Context, m Machine) (Machine, error) { return m, nil },
		deployment: func(Machine) (*Deployment, error) { return want.Deploy, nil },
	}
}

// reconcile implements Kind.Reconcile.
func (b *metal) reconcile(ctx context.Context, ref Ref, want MachineSpec) (Result[BareMetal], error) {
	res, err := b.reach(ctx, ref, want, bare(want))
	if err != nil || !res.Done || ref.Finished || res.Object.Finished {
		return res, err
	}
	m, err := b.annotate(ctx, res.Object.Machine, map[string]string{keyData: string(ref.Key), stateData: want.finishedState()})
	if err != nil {
		return res, err
	}
	res.Object = metalAs(m, ref.Key)
	return res, nil
}

// reach takes the machine one step towards what is wanted. Done means that it
// is there; that it says so itself is for the caller to see to.
func (b *metal) reach(ctx context.Context, ref Ref, want MachineSpec, prepare preparation) (Result[BareMetal], error) {
	if err := want.Validate(); err != nil {
		return Result[BareMetal]{}, err
	}
	look := b.look
	if ref.SystemID == "" {
		look = b.only
	}
	m, err := look(ctx, ref)
	switch {
	case errors.Is(err, ErrNotFound) && ref.SystemID != "":
		return Result[BareMetal]{}, Terminal(err) // a machine's record does not come back
	case errors.Is(err, ErrNotFound) && want.Adopt:
		return b.adopt(ctx, ref.Key, want)
	case errors.Is(err, ErrNotFound):
		m, err = b.begin(ctx, ref.Key, want, prepare)
	case err == nil && ref.SystemID == "" && metalAs(m, ref.Key).Finished:
		return Result[BareMetal]{}, knownMachine(m)
	}
	if err != nil {
		return Result[BareMetal]{}, err
	}
	res, err := b.advance(ctx, ref, want, m, prepare)
	if err != nil && res.systemID == "" {
		res = metalResult(ref.Key, m)
	}
	return res, err
}

// begin takes a machine, once it is known that there is something to install.
func (b *metal) begin(ctx context.Context, key Key, want MachineSpec, prepare preparation) (Machine, error) {
	if _, err := prepare.deployment(Machine{}); err != nil {
		return Machine{}, err
	}
	if err := b.checkImage(ctx, want.Deploy); err != nil {
		return Machine{}, err
	}
	wishes, err := b.wishes(ctx, key, want)
	if err != nil {
		return Machine{}, err
	}
	m, err := b.allocate(ctx, key, want, prepare.with(wishes))
	if err != nil {
		b.claims.forget(key)
	}
	return m, err
}

// with also wants the machine to be one that can have the addresses.
func (p preparation) with(wishes []wish) preparation {
	fits := p.fits
	p.fits = func(ctx context.Context, m Machine) error {
		if err := fits(ctx, m); err != nil {
			return err
		}
		return fit(wishes, m)
	}
	return p
}

// advance does the one thing that the phase asks for. A machine that was
// finished once is only reported, in whatever state it is.
func (b *metal) advance(ctx context.Context, ref Ref, want MachineSpec, m Machine, prepare preparation) (Result[BareMetal], error) {
	if ref.Finished || metalAs(m, ref.Key).Finished {
		return b.done(ref.Key, m), nil
	}
	if want.Adopt {
		return b.take(ctx, ref.Key, want, m)
	}
	switch phase := m.Status.Phase(); phase {
	case PhaseReady:
		return b.retake(ctx, ref.Key, m)
	case PhaseAllocated, PhaseDeploying, PhaseDeployed, PhaseFailed:
		return b.owned(ctx, ref.Key, want, m, prepare)
	default:
		return b.wait(ctx, ref.Key, m), nil
	}
}

// owned goes on with a machine that is acquired, if it is the key's.
func (b *metal) owned(ctx context.Context, key Key, want MachineSpec, m Machine, prepare preparation) (Result[BareMetal], error) {
	mine, err := b.mine(ctx, key, m)
	switch {
	case err != nil:
		return Result[BareMetal]{}, err
	case !mine:
		return Result[BareMetal]{}, strange(m, "use")
	}
	switch m.Status.Phase() {
	case PhaseAllocated:
		return b.install(ctx, key, want, m, prepare)
	case PhaseDeployed:
		m, err = b.clearFailure(ctx, m)
		return b.done(key, m), err
	case PhaseFailed:
		return Result[BareMetal]{}, failedMachine(m)
	default:
		return b.wait(ctx, key, m), nil
	}
}

// retake allocates a machine that was ours to be and has been released since.
func (b *metal) retake(ctx context.Context, key Key, m Machine) (Result[BareMetal], error) {
	if err := b.Metal.Allocate(ctx, m.SystemID, marker(key)); err != nil {
		return Result[BareMetal]{}, fmt.Errorf("cannot allocate %s: %w", m.Hostname, b.moved(ctx, m, err))
	}
	res := metalResult(key, m)
	res.Reason, res.Message = "Allocated", m.Hostname+" is allocated again"
	return res, nil
}

func (b *metal) done(key Key, m Machine) Result[BareMetal] {
	res := metalResult(key, m)
	res.Done = true
	return res
}

func (b *metal) wait(ctx context.Context, key Key, m Machine) Result[BareMetal] {
	res := metalResult(key, m)
	res.After = lookAgain
	res.changed = b.Machines.Changed(ctx, m)
	return res
}

// install deploys an allocated machine, or leaves it so.
func (b *metal) install(ctx context.Context, key Key, want MachineSpec, m Machine, prepare preparation) (Result[BareMetal], error) {
	m, err := b.annotate(ctx, m, map[string]string{keyData: string(key), stateData: stateInProgress})
	if err != nil {
		return Result[BareMetal]{}, err
	}
	if m, err = prepare.network(ctx, m); err != nil {
		return Result[BareMetal]{}, err
	}
	if m, err = b.fix(ctx, key, want, m); err != nil {
		return Result[BareMetal]{}, err
	}
	what, err := prepare.deployment(m)
	switch {
	case err != nil:
		return Result[BareMetal]{}, err
	case what == nil:
		return b.done(key, m), nil
	}
	if err := b.checkImage(ctx, what); err != nil {
		return Result[BareMetal]{}, err
	}
	if what.swaps(m) {
		if err := b.Machines.Update(ctx, m.SystemID, MachineUpdate{SwapBytes: new(int64)}); err != nil {
			return Result[BareMetal]{}, fmt.Errorf("cannot have MAAS make no swap on %s: %w", m.Hostname, b.moved(ctx, m, err))
		}
	}
	if err := b.Machines.Deploy(ctx, m.SystemID, *what); err != nil {
		return Result[BareMetal]{}, fmt.Errorf("cannot deploy %s: %w", m.Hostname, b.moved(ctx, m, refused(err)))
	}
	b.Log.InfoContext(ctx, "deploying machine", "name", m.Hostname, "system_id", m.SystemID, "image", what.Image)
	return b.wait(ctx, key, m.in(StatusDeploying)), nil
}

// adopt finds a machine that is to be taken as it is.
func (b *metal) adopt(ctx context.Context, key Key, want MachineSpec) (Result[BareMetal], error) {
	m, err := b.named(ctx, want.Machine)
	switch {
	case err != nil:
		return Result[BareMetal]{}, err
	case Key(m.OwnerData[keyData]) == key && metalAs(m, key).Finished:
		return Result[BareMetal]{}, knownMachine(m)
	}
	return b.take(ctx, key, want, m)
}

// take marks a Deployed machine as the key's, which someone else installed.
func (b *metal) take(ctx context.Context, key Key, want MachineSpec, m Machine) (Result[BareMetal], error) {
	switch owner := m.OwnerData[keyData]; {
	case owner != "" && Key(owner) != key:
		return Result[BareMetal]{}, strange(m, "adopt")
	case m.Status.Phase() == PhaseDeploying:
		return b.wait(ctx, key, m), nil
	case m.Status.Phase() != PhaseDeployed:
		return Result[BareMetal]{}, &SpecError{
			Field: "machine", Message: fmt.Sprintf("machine %s (%s) is %s", m.Hostname, m.SystemID, m.StatusName),
			Hint: "Only a Deployed machine can be adopted.", Err: ErrConflict,
		}
	}
	if m.OwnerData[stateData] == stateInProgress { // we have installed it
		return b.done(key, m), nil
	}
	m, err := b.annotate(ctx, m, map[string]string{keyData: string(key), stateData: want.begunState()})
	if err != nil {
		return metalResult(key, m), err // it may carry our mark by now
	}
	return b.done(key, m), nil
}

// annotate sets owner data where they differ, and returns the machine with
// them.
func (b *metal) annotate(ctx context.Context, m Machine, data map[string]string) (Machine, error) {
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
		return m, fmt.Errorf("cannot annotate %s: %w", m.Hostname, b.moved(ctx, m, err))
	}
	m.OwnerData = after
	return m, nil
}

// failedMachine says in MAAS's words why a machine did not come to be.
func failedMachine(m Machine) error {
	message := fmt.Sprintf("machine %s ended in the state %q", m.Hostname, m.StatusName)
	if m.StatusMessage != "" {
		message += ": " + m.StatusMessage
	}
	return &Refusal{
		Message: message,
		Hint:    fmt.Sprintf("MAAS's events of machine %s tell more. It is left as it is, to be looked at; destroying it releases it.", m.SystemID),
		Err:     ErrConflict,
	}
}
