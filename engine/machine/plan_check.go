package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
)

// obstacles implements Kind.Check for bare metal.
func (b *Kind) obstacles(ctx context.Context, ref engine.Ref, want engine.MachineSpec) engine.Obstacles {
	var o engine.Obstacles
	o.Add(b.CheckDeployment(ctx, want.Deploy))
	for _, n := range b.updater.NamesOf(want.InPlaceSettings) {
		o.Add(b.updater.CheckName(ctx, n))
	}
	if want.Machine == "" && b.FinishedObstacle(ctx, &o, ref) {
		return o
	}
	if b.hostnameObstacles(ctx, &o, ref, want) {
		return o
	}
	prepare := b.bareMetalPreparation(want).withAddresses(b.addressObstacles(ctx, &o, ref, want))
	if want.Machine != "" {
		b.NamedMachineObstacles(ctx, &o, ref, want, prepare)
	} else if want.Deploy != nil && len(o.Permanent) == 0 {
		_, err := b.FindCandidates(ctx, ref.Key, want, prepare)
		o.Add(err)
	}
	return o
}

// FinishedObstacle looks for a finished machine with the key of a new object that names no
// machine, and tells whether there is one. Another resource may give it up. Or the state of an
// earlier run was lost. A named machine tells it itself, without this search.
func (b *choiceSteps) FinishedObstacle(ctx context.Context, o *engine.Obstacles, ref engine.Ref) bool {
	if ref.SystemID != "" {
		return false
	}
	m, err := b.FindMachine(ctx, ref)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return false
	case err != nil:
		o.Add(err)
		return false
	case !AsBareMetal(m, ref.Key).Finished:
		return false
	}
	o.AddHeldBy(m, alreadyFinishedError(m))
	return true
}

// addressObstacles looks for the fixed addresses, and returns those that no other machine has.
// Another machine of this program may give its address up.
func (b *Kind) addressObstacles(ctx context.Context, o *engine.Obstacles, ref engine.Ref, want engine.MachineSpec) (free []addressWish) {
	for _, f := range want.Interfaces {
		w, err := b.lookUpAddressWish(ctx, f)
		switch {
		case err != nil:
			o.Add(err)
			continue
		case w.use.SystemID == "", w.use.SystemID == ref.SystemID:
			free = append(free, w)
			continue
		}
		holder, err := b.Machines.Machine(ctx, w.use.SystemID)
		switch {
		case err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrHidden):
			o.Add(err)
		case !isNamed(holder, want.Machine):
			o.AddHeldBy(holder, w.use.UnusableError(f.Field().Child("ip"), f.IP))
		default:
			free = append(free, w)
		}
	}
	return free
}

// isNamed tells whether a spec names the machine by this name.
func isNamed(m engine.Machine, name string) bool {
	return name != "" && (name == m.SystemID || name == m.Hostname || name == m.FQDN || inplace.WasCalled(m, name))
}

// NamedMachineObstacles looks at the named machine. If the object of ref is on it already, the
// machine is given back before it is deployed again.
func (b *choiceSteps) NamedMachineObstacles(ctx context.Context, o *engine.Obstacles, ref engine.Ref, want engine.MachineSpec, prepare Preparation) {
	m, err := b.FindNamed(ctx, want.Machine)
	// While no machine is ours yet, a found machine is the right one: it costs no further call.
	if err == nil && ref.SystemID != "" || errors.Is(err, engine.ErrNotFound) {
		if own, lookErr := b.FindMachine(ctx, ref); lookErr == nil && own.SystemID != m.SystemID && inplace.WasCalled(own, want.Machine) {
			if ambiguous := formerNameError(own, m, want.Machine); ambiguous != nil {
				o.Add(ambiguous)
				return
			}
			m, ref.SystemID, err = own, own.SystemID, nil // it has that name again once it is given back
		}
	}
	if err != nil {
		o.Add(err)
		return
	}
	if own := AsBareMetal(m, ref.Key); ref.SystemID == "" && own.Ours && own.Finished {
		o.AddHeldBy(m, alreadyFinishedError(m))
		return
	}
	if want.Adopt {
		return // it is checked when it is taken
	}
	if m.SystemID != ref.SystemID {
		if m.Status != engine.StatusReady && !AsBareMetal(m, ref.Key).Finished {
			if ours, err := b.IsMine(ctx, ref.Key, m); err == nil && ours {
				return // a former run began with it, and the apply continues
			}
		}
		if err := b.CheckAllocatable(ctx, ref.Key, m); errors.Is(err, engine.ErrBusy) {
			o.Temporary = append(o.Temporary, err)
		} else if bad, ok := errors.AsType[*engine.SpecError](err); ok && bad.Field.RootName() == "machine" {
			o.AddHeldBy(m, err)
		} else if !ok {
			o.Add(err)
		}
	}
	o.Add(b.CheckSuitable(ctx, m, want, prepare))
}

// formerNameError refuses to find our machine by its name from before we renamed it, if a
// release will not give it that name back. Either somebody else has renamed it since, or
// another machine has the name. It is nil if the release restores the name.
func formerNameError(own, other engine.Machine, name string) error {
	message := ""
	switch back := inplace.FormerSettingsOf(own).RestoreUpdate(own).Hostname; {
	case other.SystemID != "":
		message = fmt.Sprintf("%s was the name of machine %s (system id %s), and is now the name of another machine (%s, %s)", name, own.Hostname, own.SystemID, other.SystemID, other.StatusName)
	case back == nil:
		message = fmt.Sprintf("machine %s (system id %s) had the name %s, but somebody else has renamed it, so a release leaves it the name %s", own.Hostname, own.SystemID, name, own.Hostname)
	default:
		return nil
	}
	return &engine.SpecError{Field: fieldpath.New("machine"), Message: message, Hint: "Name the machine by its system id.", Err: engine.ErrConflict}
}
