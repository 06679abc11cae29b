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

// awaitInventory waits for MAAS's inventory of the LXD. If MAAS never reached the LXD, it does
// not try again by itself.
func (h *registrationSteps) awaitInventory(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error) {
	key := ref.Key
	h.Names.Refresh(engine.ListHosts)
	if !record.MAASMakesVMs() {
		if errors.Is(record.Err, engine.ErrOtherServer) && want.ServerFingerprint != "" {
			return h.acceptServer(ctx, ref, want, m, record)
		}
		if want.AcceptSilentLXD && needsNoLXD(ref, want, m, record) {
			want.DefaultStoragePool = "" // it is as noted, and the pools are unknown
			return h.finishVMHost(ctx, ref, want, m, record)
		}
		return h.awaitLXD(ctx, key, want, record, m)
	}
	res := waitingResult(key, m, record, "WaitingForInventory", fmt.Sprintf("MAAS does not know yet what VM host %s has", record.Name))
	if record.Version != "" && h.inventoryLooks.CountBelow(key, looksPerSync) {
		res.After = engine.TransitionPollInterval
		return res, nil
	}
	closed, err := h.region.CloseHost(ctx, h.Config, record, "")
	if err != nil {
		return res, err
	}
	defer closed.End()
	err = closed.SyncHost(h.Composer, record, "")
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		if other := h.otherAddressError(ctx, want, record); other != nil {
			return res, other
		}
		res.Reason, res.After = "WaitingForLXD", probePause(h.silentLXDLooks.Count(key))
		res.Message = h.withFirstBootReport(ctx, fmt.Sprintf("MAAS cannot use the LXD of %s yet: %v", record.Name, err), m)
		return res, nil
	case err != nil:
		return res, fmt.Errorf("cannot refresh VM host %s: %w", record.Name, err)
	}
	h.silentLXDLooks.Forget(key)
	res.After = time.Second
	return res, nil
}

// acceptServer notes the server certificate that the spec names, if the LXD shows it. Where only the
// LXD knows what it has, nothing is known of it before. The record may still be from before the note.
func (h *registrationSteps) acceptServer(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error) {
	shown, err := h.checkServer(ctx, ref, want, m, record)
	if err == nil {
		m, err = h.Annotate(ctx, m, engine.ServerNote(shown))
	}
	res := waitingResult(ref.Key, m, record, "WaitingForLXD", "the new certificate of its LXD is accepted")
	res.After = time.Second
	return res, err
}

// otherAddressError refuses to wait for an LXD server that a former run registered by another
// address than the spec has. MAAS never reached it, so the former address was perhaps a mistake.
func (h *registrationSteps) otherAddressError(ctx context.Context, want engine.HostSpec, record engine.VMHost) error {
	if want.Address == "" {
		return nil
	}
	began, err := h.Registrar.Endpoint(ctx, record)
	wanted := engine.Endpoint{Address: want.Address}.URL()
	if err != nil || began.URL() == wanted {
		return nil // the caller tells that MAAS does not reach it
	}
	return engine.MarkTerminal(&engine.SpecError{
		Field: fieldpath.New("address"), Err: engine.ErrConflict,
		Message: fmt.Sprintf("a former run registered VM host %s by the address %s, which MAAS cannot use, and the address is %s now", record.Name, began.URL(), wanted),
		Hint:    fmt.Sprintf("Delete VM host %s (id %d) in MAAS, or set address to the former one.", record.Name, record.ID),
		Ways:    []engine.Way{engine.WayRetry},
	})
}

// awaitLXD waits for an LXD without a VM host in MAAS: the composer asks it each time. During
// its first boot, the LXD trusts the key late and makes the project late. An existing LXD does
// neither.
func (h *registrationSteps) awaitLXD(ctx context.Context, key engine.Key, want engine.HostSpec, record engine.VMHost, m engine.Machine) (engine.Result[engine.Host], error) {
	why := record.Err
	if why == nil {
		why = fmt.Errorf("the LXD of %s has no storage pool, or shows no cores: %w", record.Name, engine.ErrBusy)
	}
	res := waitingResult(key, m, record, "WaitingForLXD", "")
	var missing *engine.Error
	late := errors.Is(why, engine.ErrForbidden) || errors.As(why, &missing) && missing.Type == engine.ProjectNotFound
	runs := want.Address != "" || machine.AsBareMetal(m, key).Finished
	switch e, err := endpointOf(want, m); {
	case late && runs && errors.Is(why, engine.ErrForbidden) && err == nil:
		return res, untrustedError(want, e, why)
	case late && runs, engine.IsTerminal(why) && !late:
		return res, engine.MarkTerminal(why)
	}
	res.After = probePause(h.silentLXDLooks.Count(key))
	if machine.AsBareMetal(m, key).Finished {
		res.Message = fmt.Sprintf("the LXD of %s does not answer: %v", record.Name, why)
		return res, nil
	}
	res.Message = h.withFirstBootReport(ctx, fmt.Sprintf("the LXD of %s is not there yet: %v", record.Name, why), m)
	return res, nil
}

// needsNoLXD tells whether only records of MAAS differ from what is wanted of a finished host whose LXD
// does not answer. Another default storage pool, key pair or server certificate needs the LXD.
func needsNoLXD(ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) bool {
	noted, isNoted := m.HostRecord()
	isAsNoted := func(wanted, has string) bool { return wanted == "" || wanted == has }
	return ref.Finished && isNoted && machine.AsBareMetal(m, ref.Key).Finished && errors.Is(record.Err, engine.ErrUnavailable) &&
		isAsNoted(want.DefaultStoragePool, noted.DefaultStoragePool) &&
		isAsNoted(want.Credentials.Fingerprint(), m.OwnerData[engine.FingerprintData]) &&
		isAsNoted(want.ServerFingerprint, m.OwnerData[engine.ServerFingerprintData])
}

// looksPerSync is the number of looks without an inventory after which to refresh. An inventory
// that failed inside MAAS stays empty for ever.
const looksPerSync = 15

// hostSpecErrors turns MAAS's errors about parameters into errors about fields.
func hostSpecErrors(err error) error {
	return engine.AsSpecErrorsBy(err, map[string]fieldpath.Path{
		"power_address": fieldpath.New("address"), "project": fieldpath.New("project"), "zone": fieldpath.New("zone"), "pool": fieldpath.New("pool"), "tags": fieldpath.New("tags"), "name": fieldpath.New("name"),
		"certificate": fieldpath.New("lxd_client_cert"), "key": fieldpath.New("lxd_client_key"), "default_storage_pool": fieldpath.New("default_storage_pool"),
		"cpu_over_commit_ratio": fieldpath.New("cpu_overcommit"), "memory_over_commit_ratio": fieldpath.New("memory_overcommit"),
	})
}
