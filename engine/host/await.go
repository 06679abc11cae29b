package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
)

// awaitInventory waits for what MAAS finds out about the LXD. Where it never
// reached it, MAAS does not try again by itself.
func (h *registration) awaitInventory(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error) {
	key := ref.Key
	h.Names.Refresh(engine.ListHosts)
	if !record.MAASMakesVMs() {
		return h.awaitLXD(ctx, key, want, record, m)
	}
	res := waiting(key, m, record, "WaitingForInventory", fmt.Sprintf("MAAS does not know yet what VM host %s has", record.Name))
	if record.Version != "" && h.looks.Again(key, syncEvery) {
		res.After = engine.Shortly
		return res, nil
	}
	closed, err := h.region.CloseHost(ctx, h.Config, record, "")
	if err != nil {
		return res, err
	}
	defer closed.End()
	err = closed.Sync(h.Composer, record, "")
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		res.Reason, res.After = "WaitingForLXD", probeAfter(h.absences.Count(key))
		res.Message = h.firstBootSays(ctx, fmt.Sprintf("MAAS cannot use the LXD of %s yet: %v", record.Name, err), m)
		return res, nil
	case err != nil:
		return res, fmt.Errorf("cannot refresh VM host %s: %w", record.Name, err)
	}
	h.absences.Forget(key)
	res.After = time.Second
	return res, nil
}

// awaitLXD waits for an LXD that MAAS has no VM host of: the composer asks it
// each time. Its first boot trusts late, and makes the project late; one that
// runs already does neither.
func (h *registration) awaitLXD(ctx context.Context, key engine.Key, want engine.HostSpec, record engine.VMHost, m engine.Machine) (engine.Result[engine.Host], error) {
	why := record.Err
	if why == nil {
		why = fmt.Errorf("the LXD of %s has no storage pool, or shows no cores: %w", record.Name, engine.ErrBusy)
	}
	res := waiting(key, m, record, "WaitingForLXD", "")
	var missing *engine.Error
	late := errors.Is(why, engine.ErrForbidden) || errors.As(why, &missing) && missing.Type == engine.ProjectNotFound
	runs := want.Address != "" || machine.AsBareMetal(m, key).Finished
	switch e, err := endpointOf(want, m); {
	case late && runs && errors.Is(why, engine.ErrForbidden) && err == nil:
		return res, untrustedError(want, e, why)
	case late && runs, engine.IsTerminal(why) && !late:
		return res, engine.Terminal(why)
	}
	res.After = probeAfter(h.absences.Count(key))
	res.Message = h.firstBootSays(ctx, fmt.Sprintf("the LXD of %s is not there yet: %v", record.Name, why), m)
	return res, nil
}

// syncEvery is how many looks at an inventory that does not come are worth a
// refresh: an inventory that failed inside MAAS stays empty for ever.
const syncEvery = 15

// refusedHost turns MAAS's complaints about parameters into ones about fields.
func refusedHost(err error) error {
	return engine.AsSpecErrorsBy(err, map[string]fieldpath.Path{
		"power_address": fieldpath.Of("address"), "project": fieldpath.Of("project"), "zone": fieldpath.Of("zone"), "pool": fieldpath.Of("pool"), "tags": fieldpath.Of("tags"), "name": fieldpath.Of("name"),
		"certificate": fieldpath.Of("lxd_client_cert"), "key": fieldpath.Of("lxd_client_key"), "default_storage_pool": fieldpath.Of("default_storage_pool"),
		"cpu_over_commit_ratio": fieldpath.Of("cpu_overcommit"), "memory_over_commit_ratio": fieldpath.Of("memory_overcommit"),
	})
}
