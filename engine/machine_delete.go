package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// maxReleases bounds releases of one machine that fail one after the other.
const maxReleases = 3

// delete implements Kind.Delete: abort, release, see that it is Ready and
// un-owned. The machine's record is never deleted, and what carries no mark of
// ours is not touched: it was released, and perhaps acquired by someone else.
func (b *metal) delete(ctx context.Context, ref Ref) (Result[BareMetal], error) {
	m, err := b.look(ctx, ref)
	switch {
	case errors.Is(err, ErrNotFound):
		return b.free(ctx, ref, Machine{})
	case err != nil:
		return Result[BareMetal]{}, err
	}
	res, err := b.giveBack(ctx, ref, m)
	if err != nil && res.systemID == "" {
		res = metalResult(ref.Key, m)
	}
	return res, err
}

func (b *metal) giveBack(ctx context.Context, ref Ref, m Machine) (Result[BareMetal], error) {
	switch m.Status {
	case StatusReleasing, StatusDiskErasing, statusEnteringRescue, statusExitingRescue:
		return b.wait(ctx, ref.Key, m), nil
	case StatusReady, StatusNew, StatusCommissioning:
		return b.free(ctx, ref, m) // nothing of ours is there
	case StatusFailedReleasing, StatusFailedDiskErasing:
		return b.releaseAgain(ctx, ref, m)
	}
	owner, marked := m.OwnerData[keyData]
	mine, err := b.mine(ctx, ref.Key, m)
	switch {
	case err != nil:
		return Result[BareMetal]{}, err
	case marked && Key(owner) != ref.Key:
		return Result[BareMetal]{}, strange(m, "release")
	case !mine, m.adopted() && m.Owner == "":
		return b.free(ctx, ref, m)
	case m.adopted():
		return b.letGo(ctx, ref, m)
	}
	return b.undo(ctx, ref, m)
}

// releaseAgain goes on with a release that failed. The marks went when it
// began; what is left to tell whose the machine is, is its owner, whom MAAS
// keeps until it is Ready.
func (b *metal) releaseAgain(ctx context.Context, ref Ref, m Machine) (Result[BareMetal], error) {
	can, err := b.Catalog.Capabilities(ctx)
	switch {
	case err != nil:
		return Result[BareMetal]{}, err
	case m.Owner == "" || m.Owner != can.Username:
		return Result[BareMetal]{}, strange(m, "release")
	}
	return b.undo(ctx, ref, m)
}

// The passages of rescue mode, in which MAAS refuses to release.
const (
	statusEnteringRescue Status = 17
	statusExitingRescue  Status = 19
)

// undo takes one step from an acquired machine of ours towards Ready.
func (b *metal) undo(ctx context.Context, ref Ref, m Machine) (Result[BareMetal], error) {
	switch m.Status {
	case StatusDeploying, StatusTesting:
		if m.Locked {
			return Result[BareMetal]{}, locked(m, "release")
		}
		return b.stop(ctx, ref.Key, m, "abort", b.Machines.Abort)
	case StatusFailedReleasing, StatusFailedDiskErasing:
		if !b.tries.again(ref.Key, maxReleases) {
			return Result[BareMetal]{}, failedMachine(m)
		}
	}
	if m.Locked {
		return Result[BareMetal]{}, locked(m, "release")
	}
	m, err := b.unfix(ctx, m)
	if err == nil {
		m, err = b.noteFailure(ctx, m)
	}
	if err != nil {
		return Result[BareMetal]{}, err
	}
	return b.stop(ctx, ref.Key, m, "release", func(ctx context.Context, systemID string) error {
		return b.Machines.Release(ctx, systemID, ref.Release.Erase)
	})
}

// free says that nothing of ours is on the machine any more, once no other one
// is left either that a process allocated for the key before it died.
func (b *metal) free(ctx context.Context, ref Ref, m Machine) (Result[BareMetal], error) {
	left, err := b.allocated(ctx, ref.Key)
	if ref.SystemID != "" { // one that is finished is that of a host which took the name since
		left = slices.DeleteFunc(left, func(other Machine) bool { return other.SystemID != ref.SystemID && metalAs(other, ref.Key).Finished })
	}
	switch {
	case err != nil:
		return Result[BareMetal]{}, err
	case len(left) > 0 && left[0].SystemID != m.SystemID:
		return b.undo(ctx, ref, left[0])
	}
	if m.Owner == "" {
		if m, err = b.unfix(ctx, m); err != nil {
			return Result[BareMetal]{}, err
		}
	}
	b.tries.forget(ref.Key)
	b.claims.forget(ref.Key)
	return b.done(ref.Key, m), nil
}

// letGo takes the marks off a machine that someone else installed.
func (b *metal) letGo(ctx context.Context, ref Ref, m Machine) (Result[BareMetal], error) {
	m, err := b.annotate(ctx, m, m.unmarked())
	if err != nil {
		return Result[BareMetal]{}, err
	}
	return b.free(ctx, ref, m)
}

// unmarked are the owner data that take our marks off the machine.
func (m Machine) unmarked() map[string]string {
	none := map[string]string{}
	for name := range m.OwnerData {
		if ourData(name) {
			none[name] = ""
		}
	}
	return none
}

// stop begins a transition. MAAS may refuse it because the machine has moved
// on since the look; the next step sees where to.
func (b *metal) stop(ctx context.Context, key Key, m Machine, verb string, call func(context.Context, string) error) (Result[BareMetal], error) {
	if err := call(ctx, m.SystemID); err != nil && !errors.Is(err, ErrNotFound) {
		return Result[BareMetal]{}, fmt.Errorf("cannot %s %s: %w", verb, m.Hostname, b.moved(ctx, m, err))
	}
	b.Log.InfoContext(ctx, verb+" machine", "name", m.Hostname, "system_id", m.SystemID)
	res := metalResult(key, m)
	res.After, res.Message = shortly, fmt.Sprintf("asked MAAS to %s %s", verb, m.Hostname)
	res.changed = b.Machines.Changed(ctx, m)
	return res, nil
}
