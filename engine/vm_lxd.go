package engine

import "errors"

// reached tells that something is known of what the host has.
func (h VMHost) reached() bool { return h.Version != "" && h.Cores.Total > 0 }

// unusable says why no VM at all can be made on the host, however long one
// waits; empty: it can.
func (h VMHost) unusable() string {
	if h.Err == nil || h.Version == "" && !IsTerminal(h.Err) {
		return ""
	}
	return plainly(h.Err)
}

// plainly is what an error says, without what sorts it.
func plainly(err error) string {
	if typed, ok := errors.AsType[*Error](err); ok {
		return typed.Message + because(typed.Err)
	}
	if spec, ok := errors.AsType[*SpecError](err); ok {
		return spec.Message
	}
	return err.Error()
}

// unreached says why nothing is known of what the host has; empty: it is.
func (h VMHost) unreached() string {
	switch {
	case h.reached():
		return ""
	case h.Err != nil:
		return plainly(h.Err)
	case h.Version == "":
		return "its LXD was never reached"
	}
	return "its inventory has not come yet"
}

// usable refuses a named host that placement would pass over. An LXD that does
// not answer may do so soon; nil stays nil.
func (h VMHost) usable() error {
	if errors.Is(h.Err, ErrUnavailable) {
		return h.Err
	}
	return Terminal(h.Err)
}
