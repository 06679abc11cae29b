package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// metal implements the kind Machine, and with it the first half of the kind
// Host.
type metal struct {
	Config
	tries   *tries // releases that failed
	surplus *tries // looks at two machines of one key
	claims  *claims
}

// Owner data by which a machine tells whose it is. MAAS clears them when the
// machine is released, so that nothing of ours outlives the allocation.
const (
	keyData   = "maaslxd-key"
	stateData = "maaslxd-state"
)

// ourData tells which owner data are ours.
func ourData(name string) bool { return strings.HasPrefix(name, markerPrefix) }

// The values of stateData.
const (
	stateInProgress = "in progress"
	stateFinished   = "finished"
	// stateAdopting and stateAdopted: installed by someone else, and so never
	// released, finished or not.
	stateAdopting = "adopting"
	stateAdopted  = "adopted"
)

func (s MachineSpec) begunState() string {
	if s.Adopt && !s.Inherit {
		return stateAdopting
	}
	return stateInProgress
}

func (s MachineSpec) finishedState() string {
	if s.Adopt && !s.Inherit {
		return stateAdopted
	}
	return stateFinished
}

// adopted tells that someone else installed the machine.
func (m Machine) adopted() bool {
	return m.OwnerData[stateData] == stateAdopting || m.OwnerData[stateData] == stateAdopted
}

// observe implements Kind.Observe.
func (b *metal) observe(ctx context.Context, ref Ref) (BareMetal, error) {
	m, err := b.look(ctx, ref)
	if err != nil {
		return BareMetal{}, err
	}
	return metalAs(m, ref.Key), nil
}

func metalAs(m Machine, key Key) BareMetal {
	state := m.OwnerData[stateData]
	return BareMetal{
		Machine: m, Ours: Key(m.OwnerData[keyData]) == m.current(key),
		Finished: state == stateFinished || state == stateAdopted,
	}
}

func metalResult(key Key, m Machine) Result[BareMetal] {
	return Result[BareMetal]{
		Object: metalAs(m, key), systemID: m.SystemID,
		Reason: strings.ReplaceAll(m.StatusName, " ", ""), Message: m.StatusMessage,
	}
}

// look finds the machine of a ref: by its system id, or by the mark that
// Allocate left with it together with the allocation itself. There is no
// allocation of ours without that mark, whatever else was lost.
func (b *metal) look(ctx context.Context, ref Ref) (Machine, error) {
	if ref.SystemID != "" {
		return b.Machines.Machine(ctx, ref.SystemID)
	}
	found, err := b.allocated(ctx, ref.Key)
	if err != nil {
		return Machine{}, err
	}
	if len(found) == 0 {
		return Machine{}, fmt.Errorf("no machine is allocated for %s: %w", ref.Key, ErrNotFound)
	}
	return found[0], nil
}

// only returns the first of the machines that were allocated for a key, and
// gives the others back: they were allocated and never touched by a process
// that died before it could do so itself.
func (b *metal) only(ctx context.Context, ref Ref) (Machine, error) {
	found, err := b.allocated(ctx, ref.Key)
	switch {
	case err != nil:
		return Machine{}, err
	case len(found) == 0:
		return Machine{}, fmt.Errorf("no machine is allocated for %s: %w", ref.Key, ErrNotFound)
	}
	surplus := slices.DeleteFunc(slices.Clone(found[1:]), func(m Machine) bool {
		return m.Status != StatusAllocated || metalAs(m, ref.Key).Finished
	})
	if len(surplus) > 0 && !claimed(found[0]) && b.surplus.again(ref.Key, maxLooks) {
		// Whose process lives goes on with its machine, or gives it back.
		return Machine{}, fmt.Errorf("%s and %s are both allocated for %s, and one of them is to be given back: %w", found[0].Hostname, surplus[0].Hostname, ref.Key, ErrBusy)
	}
	for _, m := range surplus {
		if err := b.Machines.Release(ctx, m.SystemID, EraseNone); err != nil {
			return Machine{}, fmt.Errorf("cannot give %s back, which %s does not need: %w", m.Hostname, ref.Key, err)
		}
		b.Log.InfoContext(ctx, "gave a second machine back", "name", m.Hostname, "system_id", m.SystemID)
	}
	return found[0], nil
}

// maxLooks is how many looks at two machines, of which none is claimed, show
// that no process is about to claim one.
const maxLooks = 3

// claimed tells that a process has seen the machine to be the key's only one,
// and goes on with it.
func claimed(m Machine) bool { return m.OwnerData[keyData] != "" }

// allocated lists the machines that were allocated for a key, the one that has
// come furthest first. One whose host was renamed since is another key's. There is one, unless two processes chose at the same
// moment.
func (b *metal) allocated(ctx context.Context, key Key) ([]Machine, error) {
	found, err := b.Machines.MachinesWhere(ctx, MachineFilter{Agent: marker(key)})
	if err != nil {
		return nil, fmt.Errorf("cannot look for the machine of %s: %w", key, err)
	}
	for _, m := range found {
		if m.Err != nil {
			return nil, fmt.Errorf("cannot tell whether %s was allocated for %s: %w", m.Hostname, key, m.Err)
		}
	}
	found = slices.DeleteFunc(found, func(m Machine) bool { return claimed(m) && Key(m.OwnerData[keyData]) != key })
	slices.SortFunc(found, func(x, y Machine) int {
		return cmp.Or(
			boolCompare(metalAs(y, key).Finished, metalAs(x, key).Finished),
			boolCompare(x.Status == StatusAllocated, y.Status == StatusAllocated),
			boolCompare(claimed(y), claimed(x)),
			cmp.Compare(x.SystemID, y.SystemID),
		)
	})
	return found, nil
}

func boolCompare(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	default:
		return 1
	}
}

// mine reports whether an acquired machine is the key's: it says so itself, or
// Allocate's mark does.
func (b *metal) mine(ctx context.Context, key Key, m Machine) (bool, error) {
	if owner, ok := m.OwnerData[keyData]; ok {
		return Key(owner) == key, nil
	}
	found, err := b.allocated(ctx, key)
	return slices.ContainsFunc(found, func(f Machine) bool { return f.SystemID == m.SystemID }), err
}

// strange says that a machine is not ours to touch.
func strange(m Machine, verb string) error {
	whose := "was acquired outside of this configuration"
	if key := m.OwnerData[keyData]; key != "" {
		whose = "belongs to " + key
	}
	return &Refusal{
		Message: fmt.Sprintf("cannot %s machine %s (%s, %s): it %s", verb, m.Hostname, m.SystemID, m.StatusName, whose),
		Hint:    "Release it in MAAS if nobody needs it, or choose another machine.", Err: ErrConflict,
	}
}

// named finds the one machine that a spec names by system id, hostname or FQDN.
func (b *metal) named(ctx context.Context, name string) (Machine, error) {
	short, _, _ := strings.Cut(name, ".")
	found, err := b.Machines.MachinesNamed(ctx, short)
	if err != nil {
		return Machine{}, err
	}
	for _, m := range found {
		if name == short || strings.EqualFold(m.FQDN, name) {
			return m, nil
		}
	}
	m, err := b.Machines.Machine(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return Machine{}, &SpecError{Field: "machine", Message: fmt.Sprintf("MAAS has no machine %q", name), Err: ErrNotFound, Hint: b.meant(ctx, name, found)}
	}
	return m, err
}

// meant says which machine is nearly called so: in another domain, or in other
// letters.
func (b *metal) meant(ctx context.Context, name string, sameHostname []Machine) string {
	if small := strings.ToLower(name); len(sameHostname) == 0 && small != name {
		short, _, _ := strings.Cut(small, ".")
		sameHostname, _ = b.Machines.MachinesNamed(ctx, short)
	}
	if len(sameHostname) == 0 {
		return "Give a hostname, an FQDN or a system id, or describe the machine by a selector."
	}
	m := sameHostname[0]
	if !strings.Contains(name, ".") {
		return fmt.Sprintf("Did you mean %q? Names differ by case.", m.Hostname)
	}
	return fmt.Sprintf("Did you mean %q? That is the only machine of this hostname.", m.FQDN)
}
