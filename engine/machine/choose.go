package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// allocate takes a machine for a key: the one that the spec names, or one that fits the
// selector. An allocated machine carries our mark from that moment on.
func (b *choiceSteps) allocate(ctx context.Context, key engine.Key, want engine.MachineSpec, prepare Preparation) (engine.Machine, error) {
	choices, err := b.FindCandidates(ctx, key, want, prepare)
	if err != nil {
		return engine.Machine{}, err
	}
	var unsuited error
	lost := false
	for _, m := range choices {
		err := b.acquire(ctx, key, m, want.Deploy)
		switch {
		case err == nil:
			return b.confirmOnlyMachine(ctx, key, m)
		case errors.Is(err, engine.ErrInvalid): // another machine may have a cache, or a layout of the site
			if unsuited == nil {
				unsuited = err
			}
		case errors.Is(err, engine.ErrConflict), errors.Is(err, engine.ErrNotFound): // someone was faster
			lost = true
		default:
			return engine.Machine{}, err
		}
	}
	if unsuited != nil && !lost { // otherwise a suitable one may come back
		return engine.Machine{}, unsuited
	}
	return engine.Machine{}, fmt.Errorf("other users were faster with each of %d machines: %w", len(choices), engine.ErrBusy)
}

// acquire lays out the disks of a machine and allocates it.
func (b *choiceSteps) acquire(ctx context.Context, key engine.Key, m engine.Machine, d *engine.Deployment) error {
	if err := b.layOutDisks(ctx, m, d); err != nil {
		return err
	}
	if err := b.Metal.Allocate(ctx, m.SystemID, engine.MarkerOf(key)); err != nil {
		if d != nil && d.Storage != nil {
			b.Log.WarnContext(ctx, "laid out the disks of a machine that others have now", "name", m.Hostname, "system_id", m.SystemID, "storage_layout", d.Storage.Type)
		}
		return fmt.Errorf("cannot allocate %s: %w", m.Hostname, err)
	}
	b.Log.InfoContext(ctx, "allocated machine", "name", m.Hostname, "system_id", m.SystemID)
	return nil
}

// confirmOnlyMachine accepts the machine if it is the only one of the key. Another process may
// have allocated one at the same moment. Each process looks after it has allocated, so at most
// one sees no other, and that one continues. A process that sees another machine gives its own
// back, or waits until the other one has.
func (b *choiceSteps) confirmOnlyMachine(ctx context.Context, key engine.Key, m engine.Machine) (engine.Machine, error) {
	found, err := b.findAllocated(ctx, key)
	switch {
	case err != nil:
		return engine.Machine{}, err
	case len(found) == 1 && found[0].SystemID == m.SystemID:
		return b.Machines.Machine(ctx, m.SystemID)
	case len(found) == 0:
		return engine.Machine{}, fmt.Errorf("machine %s was allocated and released again by someone: %w", m.Hostname, engine.ErrBusy)
	case found[0].SystemID == m.SystemID:
		return engine.Machine{}, fmt.Errorf("another process has also allocated %s for %s: %w", found[1].Hostname, key, engine.ErrBusy)
	}
	if err := b.Machines.Release(ctx, m.SystemID, engine.EraseNone); err != nil {
		return engine.Machine{}, fmt.Errorf("cannot give %s back, because %s has another machine: %w", m.Hostname, key, err)
	}
	return engine.Machine{}, fmt.Errorf("another process has allocated %s for %s: %w", found[0].Hostname, key, engine.ErrBusy)
}

// FindCandidates lists the machines to try, the best one first.
func (b *choiceSteps) FindCandidates(ctx context.Context, key engine.Key, want engine.MachineSpec, prepare Preparation) ([]engine.Machine, error) {
	if want.Machine != "" {
		m, err := b.FindNamed(ctx, want.Machine)
		if err == nil {
			err = b.CheckAllocatable(ctx, key, m)
		}
		if err == nil {
			err = b.CheckSuitable(ctx, m, want, prepare)
		}
		return []engine.Machine{m}, err
	}
	if err := b.checkSelector(ctx, want.Select); err != nil {
		return nil, err
	}
	ready, err := b.Machines.MachinesWhere(ctx, engine.MachineFilter{
		Status: engine.StatusReady, Zone: want.Select.Zone, Pool: want.Select.Pool, Tags: want.Select.Tags,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list the Ready machines: %w", err)
	}
	fitting := slices.DeleteFunc(slices.Clone(ready), func(m engine.Machine) bool { return m.Err != nil || !want.Select.Matches(m) })
	if len(fitting) == 0 {
		return nil, b.noMachineFitsError(ctx, want.Select, len(ready))
	}
	// Machines with a failed deployment come last. Otherwise the smallest one with a broken
	// disk would be chosen for ever. The smallest suitable machine comes first, so that large
	// ones stay for those who need them. Among equal ones, processes that choose at the same
	// moment begin at different machines.
	slices.SortFunc(fitting, func(x, y engine.Machine) int {
		return cmp.Or(lastFailureTime(x).Compare(lastFailureTime(y)), cmp.Compare(x.Cores, y.Cores), cmp.Compare(x.MemoryMiB, y.MemoryMiB), cmp.Compare(tieBreaker(key, x), tieBreaker(key, y)))
	})
	return b.filterSuitable(ctx, fitting, want, prepare)
}

// CheckSuitable says why a machine cannot meet the spec, as far as MAAS tells before it is
// allocated. To give a machine back later may erase its disks.
func (b *choiceSteps) CheckSuitable(ctx context.Context, m engine.Machine, want engine.MachineSpec, prepare Preparation) error {
	if err := b.checkImageForMachine(ctx, m, want); err != nil {
		return err
	}
	if want.Deploy != nil {
		if err := want.Deploy.Storage.CheckDisks(m); err != nil {
			return err
		}
	}
	return prepare.Check(ctx, m)
}

// filterSuitable lists the machines that can meet the spec. If none can, the error says why for
// the first. A failed look ends it: the machine of that look may be the best one.
func (b *choiceSteps) filterSuitable(ctx context.Context, fitting []engine.Machine, want engine.MachineSpec, prepare Preparation) ([]engine.Machine, error) {
	var found []engine.Machine
	var first *engine.SpecError
	for _, m := range fitting {
		err := b.CheckSuitable(ctx, m, want, prepare)
		var unsuited *engine.SpecError
		switch {
		case err == nil:
			found = append(found, m)
		case !errors.As(err, &unsuited):
			return nil, err
		case first == nil:
			first = unsuited
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	why := *first
	if more := len(fitting) - 1; more > 0 {
		why.Message += fmt.Sprintf("; none of the %d other Ready machines that fit the selector is suitable either", more)
	}
	return nil, &why
}

func tieBreaker(key engine.Key, m engine.Machine) uint64 {
	h := fnv.New64a()
	h.Write([]byte(string(key) + "/" + m.SystemID)) //nolint:errcheck // never fails
	return h.Sum64()
}

// CheckAllocatable checks a certain machine before it is taken.
func (b *choiceSteps) CheckAllocatable(ctx context.Context, key engine.Key, m engine.Machine) error {
	if m.Status == engine.StatusReady {
		return nil
	}
	ours, err := b.IsMine(ctx, key, m)
	switch {
	case err != nil:
		return err
	case ours && AsBareMetal(m, key).Finished:
		return alreadyFinishedError(m)
	}
	var ways []engine.Way
	hint := "Only Ready machines can be deployed: release it if nobody needs it, or choose another one."
	switch m.Status.Phase() {
	case engine.PhaseCommissioning, engine.PhaseReleasing:
		if m.Status != engine.StatusNew {
			return fmt.Errorf("machine %s is %s, not Ready yet: %w", m.Hostname, m.StatusName, engine.ErrBusy)
		}
		hint = "Commission it in MAAS first."
	case engine.PhaseDeployed:
		hint, ways = "To install it again, release it in MAAS first.", []engine.Way{engine.WayUseAsIs}
	}
	message := fmt.Sprintf("machine %s (%s) is not Ready but %s", m.Hostname, m.SystemID, m.StatusName)
	if m.Owner != "" {
		message += ", and belongs to the MAAS user " + m.Owner
	}
	if marked := m.MarkedBy(); marked != "" { // a release would take it from that object
		message += fmt.Sprintf("; it was made for %q", marked)
		hint, ways = "Choose another machine.", nil
	}
	return &engine.SpecError{Field: fieldpath.New("machine"), Message: message, Hint: hint, Ways: ways, Err: engine.ErrConflict}
}

func alreadyFinishedError(m engine.Machine) error {
	return engine.AlreadyFinishedError{SpecError: &engine.SpecError{
		Field:   fieldpath.New("name"),
		Message: fmt.Sprintf("the machine %s was deployed or adopted for this name earlier, and is finished (system id %s, %s)", m.Hostname, m.SystemID, m.StatusName),
		Ways:    []engine.Way{engine.WayImportLost.ForMachine(m.SystemID), engine.WayMovedBlock, engine.WayOtherName},
		Err:     engine.ErrConflict,
	}}
}

func (b *choiceSteps) checkSelector(ctx context.Context, s engine.Selector) error {
	for _, c := range []struct {
		field, kind, name string
		list              func(context.Context) ([]string, error)
	}{
		{"zone", "zone", s.Zone, b.Names.Zones},
		{"pool", "resource pool", s.Pool, b.Names.Pools},
	} {
		if err := engine.CheckName(ctx, b.Names, fieldpath.New("selector", c.field), c.kind, c.name, c.list); err != nil {
			return err
		}
	}
	return nil
}

// noMachineFitsError is retryable: machines are released, commissioned and tagged all the time. A tag
// that no machine has is probably a typing error, so the message names it.
func (b *choiceSteps) noMachineFitsError(ctx context.Context, s engine.Selector, ready int) error {
	for _, tag := range s.Tags {
		if _, isUsed := b.usedTags.Load(tag); isUsed {
			continue
		}
		tagged, err := b.Machines.MachinesWhere(ctx, engine.MachineFilter{Tags: []string{tag}})
		if err == nil && len(tagged) == 0 {
			return &engine.Error{
				Type: engine.InsufficientResources, Message: fmt.Sprintf("no machine of MAAS has the tag %q, which the selector names", tag),
				Hint: "Correct the tag, or give it to a machine in MAAS. Names of tags differ by case.",
			}
		}
		if err == nil {
			b.usedTags.Store(tag, true)
		}
	}
	return &engine.Error{
		Type:    engine.InsufficientResources,
		Message: fmt.Sprintf("none of %d Ready machines in zone %s and pool %s fits the selector", ready, cmp.Or(s.Zone, "any"), cmp.Or(s.Pool, "any")),
		Hint: fmt.Sprintf("Wanted: tags %v, architecture %s, at least %d cores, %d MiB of memory, a disk of %d GB; VMs and locked machines do not count.",
			s.Tags, cmp.Or(s.Architecture, "any"), s.MinCores, s.MinMemoryMiB, s.MinDiskGB),
	}
}
