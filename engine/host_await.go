package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// awaitInventory waits for what MAAS finds out about the LXD. Where it never
// reached it, MAAS does not try again by itself.
func (h *hosts) awaitInventory(ctx context.Context, key Key, want HostSpec, record VMHost, m Machine) (Result[Host], error) {
	h.Names.Refresh(ListHosts)
	if record.ID == 0 {
		return h.awaitLXD(ctx, key, want, record, m)
	}
	res := waiting(key, m, record, "WaitingForInventory", fmt.Sprintf("MAAS does not know yet what VM host %s has", record.Name))
	if record.Version != "" && h.looks.again(key, syncEvery) {
		res.After = shortly
		return res, nil
	}
	quiet, err := h.quiet(ctx, h.locks, record, "")
	if err != nil {
		return res, err
	}
	defer quiet.end()
	err = quiet.sync(h.Composer, record, "")
	switch {
	case errors.Is(err, ErrUnavailable):
		res.Reason, res.After = "WaitingForLXD", probeAfter(h.absences.count(key))
		res.Message = h.firstBootSays(ctx, fmt.Sprintf("MAAS cannot use the LXD of %s yet: %v", record.Name, err), m)
		return res, nil
	case err != nil:
		return res, fmt.Errorf("cannot refresh VM host %s: %w", record.Name, err)
	}
	h.absences.forget(key)
	res.After = time.Second
	return res, nil
}

// awaitLXD waits for an LXD that MAAS has no VM host of: the composer asks it
// each time. Its first boot trusts late, and makes the project late; one that
// runs already does neither.
func (h *hosts) awaitLXD(ctx context.Context, key Key, want HostSpec, record VMHost, m Machine) (Result[Host], error) {
	why := record.Err
	if why == nil {
		why = fmt.Errorf("the LXD of %s has no storage pool, or shows no cores: %w", record.Name, ErrBusy)
	}
	res := waiting(key, m, record, "WaitingForLXD", "")
	var missing *Error
	late := errors.Is(why, ErrForbidden) || errors.As(why, &missing) && missing.Type == ProjectNotFound
	runs := want.Address != "" || metalAs(m, key).Finished
	switch e, err := want.endpoint(m); {
	case late && runs && errors.Is(why, ErrForbidden) && err == nil:
		return res, want.untrusted(e, why)
	case late && runs, IsTerminal(why) && !late:
		return res, Terminal(why)
	}
	res.After = probeAfter(h.absences.count(key))
	res.Message = h.firstBootSays(ctx, fmt.Sprintf("the LXD of %s is not there yet: %v", record.Name, why), m)
	return res, nil
}

// syncEvery is how many looks at an inventory that does not come are worth a
// refresh: an inventory that failed inside MAAS stays empty for ever.
const syncEvery = 15

// refusedHost turns MAAS's complaints about parameters into ones about fields.
func refusedHost(err error) error {
	return refusedAs(err, map[string]string{
		"power_address": "address", "project": "project", "zone": "zone", "pool": "pool", "tags": "tags", "name": "name",
		"certificate": "lxd_client_cert", "key": "lxd_client_key", "default_storage_pool": "default_storage_pool",
		"cpu_over_commit_ratio": "cpu_overcommit", "memory_over_commit_ratio": "memory_overcommit",
	})
}
