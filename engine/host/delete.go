package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/engine"
)

// delete implements Kind.Delete: check that no VM is left, make MAAS forget the VM host, give
// the machine back. MAAS is never asked to do both at once: its forced release deletes the VM
// host with all machines on it.
func (h *deleteSteps) delete(ctx context.Context, ref engine.Ref) (engine.Result[engine.Host], error) {
	m, err := h.findMachine(ctx, ref)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Result[engine.Host]{}, err
	}
	ref.Key = m.CurrentKey(ref.Key)
	h.leaveName(ref, "")
	if owner, marked := m.OwnerData[engine.KeyData]; marked && engine.Key(owner) != ref.Key {
		return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), engine.NotOursError(m, "release")
	}
	record, err := h.findVMHost(ctx, ref.Key, m)
	if err != nil && !errors.Is(err, engine.ErrGone) && !errors.Is(err, engine.ErrNotFound) {
		return engine.Result[engine.Host]{}, err
	}
	if err != nil {
		if err := h.checkReleaseWithoutVMHost(ctx, ref, m, err); err != nil {
			return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
		}
	}
	return actionsIn(situationOf(record, err == nil)).delete.step(h, ctx, ref, m, record)
}

// giveMachineBack gives the machine of a host back when MAAS has no VM host of it any more.
func (h *deleteSteps) giveMachineBack(ctx context.Context, ref engine.Ref, m engine.Machine, _ engine.VMHost) (engine.Result[engine.Host], error) {
	if engine.Key(m.OwnerData[engine.KeyData]) == ref.Key { // a delete was interrupted
		if err := h.removeHostTag(ctx, m); err != nil {
			return waitingResult(ref.Key, m, engine.VMHost{}, "", ""), err
		}
	}
	res, err := h.Kind.Delete(ctx, ref)
	if res.Done {
		h.region.LeavingNames.NoteLeft(ref.SystemID, ref.Key, h.Now())
	}
	return resultFromMachine(ref.Key, res, engine.VMHost{}), err
}

// findMachine looks for the machine by the ref. If the caller never learned the system id, it
// also finds two kinds of machines with the key's mark that we did not allocate. These are
// adopted ones, and those of existing LXDs.
func (h *deleteSteps) findMachine(ctx context.Context, ref engine.Ref) (engine.Machine, error) {
	m, err := h.FindMachine(ctx, ref)
	if !errors.Is(err, engine.ErrNotFound) || ref.SystemID != "" {
		return m, err
	}
	all, listErr := h.Composer.Hosts(ctx)
	if listErr != nil && !errors.Is(listErr, engine.ErrGone) {
		return engine.Machine{}, listErr
	}
	ids := make([]string, 0, len(all))
	for _, r := range all {
		if r.MachineID != "" {
			ids = append(ids, r.MachineID)
		}
	}
	found := make([]engine.Machine, len(ids))
	var reads errgroup.Group // they share calls
	for n, id := range ids {
		reads.Go(func() (err error) {
			if found[n], err = h.Machines.Machine(ctx, id); errors.Is(err, engine.ErrNotFound) {
				err = nil
			}
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return engine.Machine{}, err
	}
	if n := slices.IndexFunc(found, func(m engine.Machine) bool { return engine.Key(m.OwnerData[engine.KeyData]) == ref.Key }); n >= 0 {
		return found[n], nil
	}
	return m, err
}

// checkReleaseWithoutVMHost refuses to give a machine back whose VM host was not found, for the
// given reason, if VMs may be lost with it.
func (h *deleteSteps) checkReleaseWithoutVMHost(ctx context.Context, ref engine.Ref, m engine.Machine, why error) error {
	if m.SystemID == "" || m.IsAdopted() {
		return nil
	}
	if mine, err := h.IsMine(ctx, ref.Key, m); err != nil || !mine {
		return err
	}
	switch {
	case ref.Release.Force:
	case errors.Is(why, engine.ErrGone) && m.OwnerData[engine.AddressData] != "":
		return &engine.Refusal{
			Message: fmt.Sprintf("cannot release machine %s: it runs the LXD at %s, and this MAAS no longer tells which VMs are on it", m.Hostname, m.OwnerData[engine.AddressData]),
			Ways:    []engine.Way{engine.WayAskLXD, engine.WayLoseContents}, Err: engine.ErrGone,
		}
	default:
		if err := h.checkNoInstances(ctx, ref, m); err != nil {
			return err
		}
	}
	return h.checkNoOtherVMHost(ctx, m)
}

// checkNoOtherVMHost refuses if MAAS has other VM hosts on the machine: their VMs would be lost
// with it.
func (h *deleteSteps) checkNoOtherVMHost(ctx context.Context, m engine.Machine) error {
	all, err := h.Composer.Hosts(ctx)
	if errors.Is(err, engine.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.MachineID == m.SystemID {
			return &engine.Refusal{
				Message: fmt.Sprintf("cannot release machine %s: MAAS has another VM host on it, %s%s", m.Hostname, r.Name, idText(r)),
				Hint:    "Remove that VM host first, if nobody needs it.", Err: engine.ErrConflict,
			}
		}
	}
	return nil
}

// idText is MAAS's number of the VM host, for people.
func idText(h engine.VMHost) string {
	if !h.MAASMakesVMs() {
		return ""
	}
	return fmt.Sprintf(" (id %d)", h.ID)
}

// forgetPause is the pause after a VM host was removed. MAAS has forgotten it when it answers;
// after the pause, cached lists no longer contain it.
const forgetPause = 200 * time.Millisecond

// unregister makes MAAS forget a VM host without VMs.
func (h *deleteSteps) unregister(ctx context.Context, ref engine.Ref, m engine.Machine, record engine.VMHost) (engine.Result[engine.Host], error) {
	res := waitingResult(ref.Key, m, record, "Unregistering", "")
	closed, err := h.region.CloseHost(ctx, h.Config, record, "")
	if err != nil {
		return res, err
	}
	defer closed.End()
	ctx = closed.Context()
	m, err = h.checkEmpty(ctx, ref, m, record)
	if on, ok := errors.AsType[*vmsLeavingError](err); ok {
		res.Reason, res.Message, res.After = "WaitingForVMs", on.Error(), engine.TransitionPollInterval
		return res, nil
	}
	if err != nil {
		return res, err
	}
	// The tag is the record of a host whose VMs are made in LXD: Unregister removes it last.
	err = h.removeMarksOfAdopted(ctx, ref.Key, m, record)
	if err == nil && record.MAASMakesVMs() {
		err = h.removeHostTag(ctx, m)
	}
	if err != nil {
		return res, err
	}
	others := h.otherHostIDs(ctx, record)
	if err := closed.AskMAAS(func(ctx context.Context) error { return h.Registrar.Unregister(ctx, record) }); err != nil {
		return res, fmt.Errorf("cannot remove VM host %s: %w", record.Name, err)
	}
	closed.NoteRemoved()
	h.restoreLostMachines(ctx, others)
	h.Log.InfoContext(ctx, "removed VM host", "name", record.Name, "id", record.ID)
	res.Object.VMHost, res.After, res.Message = engine.VMHost{}, forgetPause, "MAAS has forgotten VM host "+record.Name
	return res, nil
}

// checkEmpty refuses while VMs are on the VM host, or on other VM hosts whose VMs would be lost
// with it. The error is a *vmsLeavingError if they will go soon. It returns the machine of the
// VM host, if MAAS has one.
func (h *deleteSteps) checkEmpty(ctx context.Context, ref engine.Ref, m engine.Machine, record engine.VMHost) (engine.Machine, error) {
	if !ref.Release.Force {
		err := h.checkNoVMs(ctx, ref.Key, record)
		if _, going := errors.AsType[*vmsLeavingError](err); going {
			return m, err
		}
		if err := errors.Join(err, h.checkNoInstances(ctx, ref, m)); err != nil {
			return m, err
		}
	}
	if m.SystemID == "" && record.MachineID != "" {
		var err error
		if m, err = h.Machines.Machine(ctx, record.MachineID); err != nil && !errors.Is(err, engine.ErrNotFound) {
			return m, err
		}
	}
	return m, h.checkOtherHostsEmpty(ctx, ref.Key, m, record)
}

// removeMarksOfAdopted removes our marks from a machine that we may not release, while its VM
// host still exists: without the VM host, nothing leads to the marks.
func (h *deleteSteps) removeMarksOfAdopted(ctx context.Context, key engine.Key, m engine.Machine, record engine.VMHost) error {
	if engine.Key(m.OwnerData[engine.KeyData]) != key || !m.IsAdopted() || m.Owner == "" {
		return nil
	}
	if record.MAASMakesVMs() && !slices.Contains(record.Tags, engine.MarkerOf(key)) { // others are found by their machine
		if err := h.Registrar.TagHost(ctx, record, engine.MarkerOf(key)); err != nil {
			return fmt.Errorf("cannot tag VM host %s: %w", record.Name, err)
		}
	}
	_, err := h.Annotate(ctx, m, m.MarkRemoval())
	return err
}

// checkNoInstances refuses while the LXD has instances in the host's project that MAAS may not
// know: they would be lost with the machine. An LXD that cannot be asked does not keep its host
// for ever.
func (h *deleteSteps) checkNoInstances(ctx context.Context, ref engine.Ref, m engine.Machine) error {
	e := engine.Endpoint{Address: m.OwnerData[engine.AddressData], Project: m.OwnerData[engine.ProjectData]}
	if h.Probe == nil || ref.Release.Credentials.Key == "" || e.Address == "" || m.IsAdopted() {
		return nil
	}
	server, err := h.Probe.Server(ctx, e, ref.Release.Credentials, pinnedFingerprint(m, ref, ""))
	switch {
	case errors.Is(err, engine.ErrOtherServer):
		return fmt.Errorf("cannot release machine %s without asking its LXD for instances: %w", m.Hostname, err)
	case err != nil:
		h.Log.InfoContext(ctx, "cannot ask the LXD for its instances", "address", e.Address, "error", err)
		return ctx.Err()
	}
	if len(server.Instances) == 0 {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("cannot release machine %s: project %q of its LXD holds %s", m.Hostname, e.Project, strings.Join(server.Instances, ", ")),
		Hint:    "Delete or move these instances first. This program cannot see instances of other projects.", Err: engine.ErrConflict,
	}
}

// vmsUnknownError says that only the LXD of a host knows its VMs, and how to make it answer.
func vmsUnknownError(record engine.VMHost, cause error) error {
	hint := "Bring its LXD back"
	if errors.Is(cause, engine.ErrInvalid) || errors.Is(cause, engine.ErrForbidden) { // the LXD runs, but refuses the certificate
		cause = engine.MarkTerminal(errors.New(cause.Error())) // without its hint, which does not know the host
		hint = "Give a valid client key pair that its LXD trusts (on the host: lxc config trust add FILE.crt --restricted --projects PROJECT)"
	}
	return &engine.Error{
		Type: engine.HostUnavailable, Host: record.Name, Message: "cannot tell which VMs are on it", Err: cause,
		Hint: hint + ".", Ways: []engine.Way{engine.WayRetryDelete, engine.WayLoseContents},
	}
}

// vmsLeavingError says that VMs are on a host that are being deleted, or may be soon: the
// delete waits for them.
type vmsLeavingError struct{ message string }

func (e *vmsLeavingError) Error() string { return e.message }

// looksBeforeRefusal is the number of looks at a host after which its VMs of this program block
// its removal. Until then they have time to show that they are being deleted: a front end may
// delete them at the same moment.
const looksBeforeRefusal = 4

// checkNoVMs refuses while MAAS has VMs on the host, and says whose they are. It waits for
// those that are being deleted.
func (h *deleteSteps) checkNoVMs(ctx context.Context, key engine.Key, record engine.VMHost) error {
	listed, err := h.Composer.VMs(ctx, []engine.VMHost{record})
	if errors.Is(err, engine.ErrUnavailable) && record.OnlyLXDKnowsVMs() {
		return vmsUnknownError(record, err)
	}
	if err != nil {
		return fmt.Errorf("cannot list the VMs on VM host %s: %w", record.Name, err)
	}
	var ours, leaving, foreign []string
	for _, m := range listed {
		switch key, _ := engine.KeyIn(m.Description); {
		case m.SystemID == "":
			foreign = append(foreign, m.Hostname+" (an instance that MAAS does not know)")
		case key != "" && h.isBeingDeleted(ctx, key, m.Machine):
			leaving = append(leaving, m.Hostname)
		case key != "":
			ours = append(ours, fmt.Sprintf("%s (%s, made for %q)", m.Hostname, m.SystemID, key))
		default:
			foreign = append(foreign, fmt.Sprintf("%s (%s)", m.Hostname, m.SystemID))
		}
	}
	switch {
	case len(ours)+len(leaving)+len(foreign) == 0:
		h.vmLooks.Forget(key)
		return nil
	case len(foreign) == 0 && len(leaving) > 0: // a front end may delete the others once these are gone
		h.vmLooks.Forget(key)
		return &vmsLeavingError{fmt.Sprintf("VM host %s is removed when its VMs are deleted: %s", record.Name, strings.Join(append(leaving, ours...), ", "))}
	case len(foreign) == 0 && h.vmLooks.Count(key) < looksBeforeRefusal:
		return &vmsLeavingError{fmt.Sprintf("VM host %s has VMs: %s", record.Name, strings.Join(ours, ", "))}
	}
	return vmsOnHostError(record, ours, foreign)
}

// vmsOnHostError refuses to remove a VM host that has VMs: those with a mark of this program, and
// those of others.
func vmsOnHostError(record engine.VMHost, marked, foreign []string) error {
	var has []string
	if len(marked) > 0 {
		has = append(has, "VMs: "+strings.Join(marked, ", "))
	}
	if len(foreign) > 0 {
		has = append(has, "VMs of others: "+strings.Join(foreign, ", "))
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("cannot remove VM host %s, which has %s", record.Name, strings.Join(has, "; and ")),
		Hint:    "Delete or move them first.", Err: engine.ErrConflict,
	}
}

// isBeingDeleted tells whether the VM of a key is being deleted: by this process, by MAAS, or
// by a process with the same ledger. A runner without a lasting ledger has no row of the VM.
func (h *otherHostSteps) isBeingDeleted(ctx context.Context, key engine.Key, m engine.Machine) bool {
	if m.Status.Phase() == engine.PhaseReleasing || h.region.LeavingNames.IsDeleting(m.SystemID, h.Now()) {
		return true
	}
	row, err := h.Ledger.Row(ctx, key)
	return err == nil && row.State == engine.RowLeaving
}
