package host

import (
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// finishedData are the owner data of a finished host. If the host got another name, its key
// changes with it, so that the former name is free for another host.
func (h *stepBase) finishedData(ref engine.Ref, want engine.HostSpec, m engine.Machine) map[string]string {
	data := map[string]string{engine.StateData: finalState(m, finishedState(want))}
	if ref.CurrentKey() != ref.Key {
		data[engine.KeyData], data[engine.FormerKeyData] = string(ref.CurrentKey()), string(ref.Key)
	}
	return data
}

// leaveName notes that this process renames or deletes a host.
func (h *stepBase) leaveName(ref engine.Ref, to engine.Key) {
	if ref.SystemID != "" && to != ref.Key {
		h.region.LeavingNames.NoteLeaving(ref.SystemID, string(ref.Key), string(to), h.Now())
	}
}

// waitForName waits if another host has the wanted key and is about to leave it. The cause is
// why the host cannot be made now, nil before the first try.
func (h *stepBase) waitForName(ref engine.Ref, want engine.HostSpec, cause error) (engine.Result[engine.Host], bool) {
	if ref.SystemID != "" || !want.AwaitName {
		return engine.Result[engine.Host]{}, false
	}
	message := "the host with the name %s is being renamed or deleted"
	_, waits := h.region.LeavingNames.FindLeaver(string(ref.Key), h.Now())
	if _, known := errors.AsType[engine.AlreadyFinishedError](cause); known && !waits {
		message, waits = "this run may still rename or delete the host with the name %s", h.region.LeavingNames.CountWait(ref.Key, h.Now())
	}
	res := waitingResult(ref.Key, engine.Machine{}, engine.VMHost{}, "WaitingForName", fmt.Sprintf(message, want.Name))
	res.After = region.NamePollInterval
	return res, waits
}
