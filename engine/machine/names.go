package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// deleteAndLeaveName implements Kind.Delete.
func (b *Kind) deleteAndLeaveName(ctx context.Context, ref engine.Ref) (engine.Result[engine.BareMetal], error) {
	b.leaveName(ref, "")
	res, err := b.Delete(ctx, ref)
	if res.Done {
		b.region.LeavingNames.NoteLeft(region.KeyLeaveID(ref.SystemID), ref.Key, b.Now())
	}
	return res, err
}

// leaveName notes that this process renames or gives back a machine.
func (b *Kind) leaveName(ref engine.Ref, to engine.Key) {
	if ref.SystemID != "" && to != ref.Key {
		b.region.LeavingNames.NoteLeaving(region.KeyLeaveID(ref.SystemID), string(ref.Key), string(to), b.Now())
	}
}

// waitForName waits if another machine has the wanted key and is about to leave it. The cause
// is why the machine cannot be made now, nil before the first try.
func (b *Kind) waitForName(ref engine.Ref, want engine.MachineSpec, cause error) (engine.Result[engine.BareMetal], bool) {
	if ref.SystemID != "" || !want.AwaitName {
		return engine.Result[engine.BareMetal]{}, false
	}
	message := "the machine with the name %s is being renamed or given back"
	_, waits := b.region.LeavingNames.FindLeaver(string(ref.Key), b.Now())
	if _, known := errors.AsType[engine.AlreadyFinishedError](cause); known && !waits {
		message, waits = "this run may still rename or give back the machine with the name %s", b.region.LeavingNames.CountWait(ref.Key, b.Now())
	}
	return engine.Result[engine.BareMetal]{
		After: region.NamePollInterval, Reason: "WaitingForName", Message: fmt.Sprintf(message, ref.Name),
	}, waits
}

// noteFinished marks the machine as finished. If it got another name, it also notes the new
// key, so that the former name is free for another machine.
func (b *inPlaceSteps) noteFinished(ctx context.Context, ref engine.Ref, want engine.MachineSpec, m engine.Machine, before engine.BareMetal) (engine.Machine, error) {
	data := map[string]string{}
	if !ref.Finished && !before.Finished {
		data[engine.KeyData], data[engine.StateData] = string(ref.Key), want.FinishedState()
	}
	if ref.CurrentKey() != ref.Key {
		if len(data) == 0 && !before.Ours {
			return m, engine.NotOursError(m, "rename")
		}
		data[engine.KeyData], data[engine.FormerKeyData] = string(ref.CurrentKey()), string(ref.Key)
	}
	m, err := b.annotateUnlocked(ctx, wantedSettingsOf(ref.CurrentKey(), want), m, data)
	if err != nil {
		return m, err
	}
	b.region.LeavingNames.NoteLeft(region.KeyLeaveID(m.SystemID), ref.Key, b.Now())
	return m, nil
}
