package engine

import (
	"errors"
	"fmt"
)

// formerData is the key that a host was known by before it was renamed. A run that
// dies after the rename leaves a state which knows the host by that key only.
const formerData = "maaslxd-former-key"

// current is the key of the machine, for one who knows it by key: its own now, if
// it was renamed from that one.
func (m Machine) current(key Key) Key {
	if now := Key(m.OwnerData[keyData]); now != "" && key != "" && Key(m.OwnerData[formerData]) == key {
		return now
	}
	return key
}

// end are the owner data of a host that has reached what was wanted. Where it got
// another name, its key follows, so that the former one is free for another host.
func (h *hosts) end(ref Ref, want HostSpec, m Machine) map[string]string {
	data := map[string]string{stateData: m.endState(finishedState(want))}
	if ref.now() != ref.Key {
		data[keyData], data[formerData] = string(ref.now()), string(ref.Key)
	}
	return data
}

// knownError says that a finished machine has the key of what is to be made.
type knownError struct{ *SpecError }

func (e knownError) Unwrap() error { return e.SpecError }

// leaveName notes that this process renames or deletes a host.
func (h *hosts) leaveName(ref Ref, to Key) {
	if ref.SystemID != "" && to != ref.Key {
		h.names.leave(ref.SystemID, string(ref.Key), string(to), h.Now())
	}
}

// waitForName waits with a host whose key another one has and is about to leave.
// The cause is why it cannot be made now, nil before it was tried.
func (h *hosts) waitForName(ref Ref, want HostSpec, cause error) (Result[Host], bool) {
	if ref.SystemID != "" || !want.AwaitName {
		return Result[Host]{}, false
	}
	_, waits := h.names.leaver(string(ref.Key), h.Now())
	if _, known := errors.AsType[knownError](cause); known && !waits {
		waits = h.names.patient(ref.Key, h.Now())
	}
	res := waiting(ref.Key, Machine{}, VMHost{}, "WaitingForName", fmt.Sprintf("the host that is called %s is being renamed or deleted", want.Name))
	res.After = nameLook
	return res, waits
}
