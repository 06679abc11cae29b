package engine

import (
	"context"
	"errors"
	"fmt"
)

// maxReleases bounds releases of one machine that fail one after the other.
const maxReleases = 3

// delete implements Kind.Delete: abort, release, see that it is Ready and
// un-owned. The machine's record is never deleted, and one that carries no
// mark of ours is not touched.
func (b *metal) delete(ctx context.Context, ref Ref) (Result[BareMetal], error) {
	m, err := b.look(ctx, ref)
	switch {
	case errors.Is(err, ErrNotFound):
		return Result[BareMetal]{Done: true}, nil
	case err != nil:
		return Result[BareMetal]{}, err
	}
	res, err := b.giveBack(ctx, ref.Key, m)
	if err != nil && res.systemID == "" {
		res = metalResult(ref.Key, m)
	}
	return res, err
}

func (b *metal) giveBack(ctx context.Context, key Key, m Machine) (Result[BareMetal], error) {
	switch m.Status.Phase() {
	case PhaseReleasing:
		return b.wait(ctx, key, m), nil
	case PhaseReady, PhaseCommissioning:
		return b.free(key, m), nil // nothing of ours is there
	}
	mine, err := b.mine(ctx, key, m)
	switch {
	case err != nil:
		return Result[BareMetal]{}, err
	case !mine && m.Owner == "":
		return b.free(key, m), nil
	case !mine:
		return Result[BareMetal]{}, strange(m, "release")
	case m.OwnerData[stateData] == stateAdopted:
		return b.letGo(ctx, key, m)
	case m.Locked:
		return Result[BareMetal]{}, locked(m, "release")
	}
	switch {
	case m.Status == StatusDeploying:
		return b.stop(ctx, key, m, "abort", b.Machines.Abort)
	case m.Status == StatusFailedReleasing, m.Status == StatusFailedDiskErasing:
		if !b.tries.again(key, maxReleases) {
			return Result[BareMetal]{}, failedMachine(m)
		}
	}
	return b.stop(ctx, key, m, "release", b.Machines.Release)
}

// free says that nothing of ours is on the machine any more.
func (b *metal) free(key Key, m Machine) Result[BareMetal] {
	b.tries.forget(key)
	return b.done(key, m)
}

// letGo takes the marks off a machine that someone else installed.
func (b *metal) letGo(ctx context.Context, key Key, m Machine) (Result[BareMetal], error) {
	none := map[string]string{}
	for name := range m.OwnerData {
		if ourData(name) {
			none[name] = ""
		}
	}
	m, err := b.annotate(ctx, m, none)
	if err != nil {
		return Result[BareMetal]{}, err
	}
	return b.free(key, m), nil
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
