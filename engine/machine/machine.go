// Package machine is the kind Machine: bare-metal machines of MAAS, allocated and deployed.
// Package host builds on it.
package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
	"github.com/maaslxd/maaslxd/engine/region"
)

// Kind implements the verbs of engine.Kind for machines. It is the first half of the kind Host,
// too.
type Kind struct {
	*stepBase
	choiceSteps
	addressSteps
	failureSteps
	releaseSteps
	inPlaceSteps
}

// stepBase is what all steps of the kind use.
type stepBase struct {
	engine.Config
	failedReleases *region.Tries // releases that failed
	rescueExits    *region.Tries // exits from rescue mode
	surplusLooks   *region.Tries // looks at two machines of one key
	claims         *region.Claims
	region         *region.Region
	// networksToRestore has, by key, the system ids of machines that are being released and
	// whose network must be restored. The release removes the marks by which they are found.
	networksToRestore *sync.Map
	// releasesSent has, by key, the system ids of machines whose release MAAS has accepted.
	// Another user may have such a machine before it is looked at again.
	releasesSent *sync.Map
	// usedTags has the tags that some machine had when nothing fitted a selector. They are not
	// looked up again: that lists all machines with the tag.
	usedTags *sync.Map
	updater  *inplace.Updater
}

// The steps of the kind, by subject: the choice of a machine, its fixed addresses, its last
// failed deployment, its release, and its settings in place.
type (
	choiceSteps  struct{ *stepBase }
	addressSteps struct{ *stepBase }
	failureSteps struct{ *stepBase }
	inPlaceSteps struct{ *stepBase }
	releaseSteps struct {
		*stepBase
		failureSteps
		inPlaceSteps
	}
)

// New returns the kind Machine. It makes no call.
func New(cfg engine.Config, in *region.Region) *Kind {
	p := &stepBase{
		Config: cfg, failedReleases: region.NewTries(), rescueExits: region.NewTries(), surplusLooks: region.NewTries(), claims: in.Claims, region: in, networksToRestore: new(sync.Map), releasesSent: new(sync.Map), usedTags: new(sync.Map),
		updater: inplace.New(cfg, inplace.KindTraits{Noun: "machine", HostnameField: fieldpath.New("hostname")}, in.LeavingNames),
	}
	return &Kind{stepBase: p, choiceSteps: choiceSteps{p}, addressSteps: addressSteps{p}, failureSteps: failureSteps{p}, releaseSteps: releaseSteps{p, failureSteps{p}, inPlaceSteps{p}}, inPlaceSteps: inPlaceSteps{p}}
}

// Verbs returns the verbs of the kind Machine.
func (b *Kind) Verbs() engine.Verbs[engine.MachineSpec, engine.BareMetal] {
	return engine.Verbs[engine.MachineSpec, engine.BareMetal]{Observe: b.observe, Reconcile: b.reconcile, Delete: b.deleteAndLeaveName, Check: b.obstacles}
}

// observe implements Kind.Observe.
func (b *Kind) observe(ctx context.Context, ref engine.Ref) (engine.BareMetal, error) {
	m, err := b.FindMachine(ctx, ref)
	if err != nil {
		return engine.BareMetal{}, err
	}
	seen := AsBareMetal(m, ref.Key)
	lost, err := b.HasLostMarks(ctx, ref, m)
	seen.Ours = seen.Ours || lost
	return seen, err
}

// AsBareMetal is the machine as the machine of a key.
func AsBareMetal(m engine.Machine, key engine.Key) engine.BareMetal {
	state := m.OwnerData[engine.StateData]
	return engine.BareMetal{
		Machine: m, Ours: engine.Key(m.OwnerData[engine.KeyData]) == m.CurrentKey(key),
		Finished: state == engine.StateFinished || state == engine.StateAdopted,
	}
}

func resultOf(key engine.Key, m engine.Machine) engine.Result[engine.BareMetal] {
	return engine.Result[engine.BareMetal]{
		Object: AsBareMetal(m, key), SystemID: m.SystemID,
		Reason: strings.ReplaceAll(m.StatusName, " ", ""), Message: m.StatusMessage,
	}
}

// FindMachine finds the machine of a ref: by its system id, or by the mark that Allocate put on
// it together with the allocation. Every allocation of ours has that mark, whatever else was
// lost.
func (b *stepBase) FindMachine(ctx context.Context, ref engine.Ref) (engine.Machine, error) {
	if ref.SystemID != "" {
		return b.Machines.Machine(ctx, ref.SystemID)
	}
	found, err := b.findAllocated(ctx, ref.Key)
	if err != nil {
		return engine.Machine{}, err
	}
	if len(found) == 0 {
		return engine.Machine{}, fmt.Errorf("no machine is allocated for %s: %w", ref.Key, engine.ErrNotFound)
	}
	return found[0], nil
}

// findOnlyMachine returns the first of the machines that were allocated for a key, and gives
// the others back. A process allocated those, and died before it could give them back itself.
func (b *Kind) findOnlyMachine(ctx context.Context, ref engine.Ref) (engine.Machine, error) {
	found, err := b.findAllocated(ctx, ref.Key)
	switch {
	case err != nil:
		return engine.Machine{}, err
	case len(found) == 0:
		return engine.Machine{}, fmt.Errorf("no machine is allocated for %s: %w", ref.Key, engine.ErrNotFound)
	}
	surplus := slices.DeleteFunc(slices.Clone(found[1:]), func(m engine.Machine) bool {
		return m.Status != engine.StatusAllocated || AsBareMetal(m, ref.Key).Finished
	})
	if len(surplus) > 0 && !isClaimed(found[0]) && b.surplusLooks.CountBelow(ref.Key, maxSurplusLooks) {
		// A living process continues with its machine, or gives it back.
		return engine.Machine{}, fmt.Errorf("%s and %s are both allocated for %s, and one of them must be given back: %w", found[0].Hostname, surplus[0].Hostname, ref.Key, engine.ErrBusy)
	}
	for _, m := range surplus {
		if err := b.Machines.Release(ctx, m.SystemID, engine.EraseNone); err != nil {
			return engine.Machine{}, fmt.Errorf("cannot give %s back, which %s does not need: %w", m.Hostname, ref.Key, err)
		}
		b.Log.InfoContext(ctx, "gave a second machine back", "name", m.Hostname, "system_id", m.SystemID)
	}
	return found[0], nil
}

// maxSurplusLooks is the number of looks at two unclaimed machines that show that no process is
// about to claim one.
const maxSurplusLooks = 3

// isClaimed tells that a process has found the machine to be the key's only one, and continues
// with it.
func isClaimed(m engine.Machine) bool { return m.OwnerData[engine.KeyData] != "" }

// findAllocated lists the machines that were allocated for a key, the most advanced first. A
// machine whose host was renamed since belongs to another key. There is only one, unless two
// processes chose at the same moment.
func (b *stepBase) findAllocated(ctx context.Context, key engine.Key) ([]engine.Machine, error) {
	found, err := b.Machines.MachinesWhere(ctx, engine.MachineFilter{Agent: engine.MarkerOf(key)})
	if err != nil {
		return nil, fmt.Errorf("cannot look for the machine of %s: %w", key, err)
	}
	for _, m := range found {
		if m.Err != nil {
			return nil, fmt.Errorf("cannot find out whether %s was allocated for %s: %w", m.Hostname, key, m.Err)
		}
	}
	found = slices.DeleteFunc(found, func(m engine.Machine) bool { return isClaimed(m) && engine.Key(m.OwnerData[engine.KeyData]) != key })
	slices.SortFunc(found, func(x, y engine.Machine) int {
		return cmp.Or(
			compareBools(AsBareMetal(y, key).Finished, AsBareMetal(x, key).Finished),
			compareBools(x.Status == engine.StatusAllocated, y.Status == engine.StatusAllocated),
			compareBools(isClaimed(y), isClaimed(x)),
			cmp.Compare(x.SystemID, y.SystemID),
		)
	})
	return found, nil
}

func compareBools(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	default:
		return 1
	}
}

// IsMine reports whether an acquired machine is the key's, by its own note or by the mark of
// Allocate.
func (b *stepBase) IsMine(ctx context.Context, key engine.Key, m engine.Machine) (bool, error) {
	if owner, ok := m.OwnerData[engine.KeyData]; ok {
		return engine.Key(owner) == key, nil
	}
	found, err := b.findAllocated(ctx, key)
	return slices.ContainsFunc(found, func(f engine.Machine) bool { return f.SystemID == m.SystemID }), err
}

// HasLostMarks tells whether somebody deleted the owner data of the ref's machine by hand. What
// Allocate put on the machine stays until it is released. It names the key of that time, so a
// machine that was renamed since is not recognised.
func (b *stepBase) HasLostMarks(ctx context.Context, ref engine.Ref, m engine.Machine) (bool, error) {
	if ref.SystemID == "" || ref.Key == "" || !hasLostItsMarks(m) {
		return false, nil
	}
	return b.IsMine(ctx, ref.Key, m)
}

// hasLostItsMarks tells whether an allocated machine has no mark any more: each gets one before it
// is deployed.
func hasLostItsMarks(m engine.Machine) bool {
	_, isMarked := m.OwnerData[engine.KeyData]
	switch m.Status.Phase() {
	case engine.PhaseDeployed, engine.PhaseFailed, engine.PhaseOther:
		return !isMarked
	default:
		return false
	}
}

// FindNamed finds the one machine that a spec names by system id, hostname or FQDN.
func (b *stepBase) FindNamed(ctx context.Context, name string) (engine.Machine, error) {
	short, _, _ := strings.Cut(name, ".")
	found, err := b.Machines.MachinesNamed(ctx, short)
	if err != nil {
		return engine.Machine{}, err
	}
	for _, m := range found {
		if name == short || strings.EqualFold(m.FQDN, name) {
			return m, nil
		}
	}
	m, err := b.Machines.Machine(ctx, name)
	if errors.Is(err, engine.ErrHidden) {
		return engine.Machine{}, &engine.SpecError{
			Field: fieldpath.New("machine"), Message: fmt.Sprintf("MAAS shows this user no machine %q", name), Err: engine.ErrNotFound,
			Hint: strings.TrimSpace(b.nameHint(ctx, name, found) + " MAAS shows the machines of other users only to administrators."),
		}
	}
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Machine{}, &engine.SpecError{Field: fieldpath.New("machine"), Message: fmt.Sprintf("MAAS has no machine %q", name), Err: engine.ErrNotFound, Hint: b.nameHint(ctx, name, found)}
	}
	return m, err
}

// nameHint names a machine with nearly the same name: in another domain, or with other letters.
func (b *stepBase) nameHint(ctx context.Context, name string, sameHostname []engine.Machine) string {
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
