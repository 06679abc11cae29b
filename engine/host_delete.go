package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// delete implements Kind.Delete: see that no VM is left, make MAAS forget the
// VM host, give the machine back. MAAS is never asked to do both at once: its
// forced release deletes the VM host with all machines on it.
func (h *hosts) delete(ctx context.Context, ref Ref) (Result[Host], error) {
	m, err := h.find(ctx, ref)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Result[Host]{}, err
	}
	ref.Key = m.current(ref.Key)
	h.leaveName(ref, "")
	if owner, marked := m.OwnerData[keyData]; marked && Key(owner) != ref.Key {
		return waiting(ref.Key, m, VMHost{}, "", ""), strange(m, "release")
	}
	record, err := h.record(ctx, ref.Key, m)
	switch {
	case err == nil:
		return h.unregister(ctx, ref, m, record)
	case errors.Is(err, ErrGone), errors.Is(err, ErrNotFound):
	default:
		return Result[Host]{}, err
	}
	if err := h.unseen(ctx, ref, m, err); err != nil {
		return waiting(ref.Key, m, VMHost{}, "", ""), err
	}
	if Key(m.OwnerData[keyData]) == ref.Key { // a delete was cut off
		if err := h.untagged(ctx, m); err != nil {
			return waiting(ref.Key, m, VMHost{}, "", ""), err
		}
	}
	res, err := h.metal.delete(ctx, ref)
	if res.Done {
		h.names.left(ref.SystemID, ref.Key, h.Now())
	}
	return hostResult(ref.Key, res, VMHost{}), err
}

// find is look, and where the caller never learned the system id it also finds
// the machine that carries the key's mark without having been allocated by us:
// an adopted one, or that of an LXD which ran already.
func (h *hosts) find(ctx context.Context, ref Ref) (Machine, error) {
	m, err := h.look(ctx, ref)
	if !errors.Is(err, ErrNotFound) || ref.SystemID != "" {
		return m, err
	}
	all, listErr := h.Composer.Hosts(ctx)
	if listErr != nil && !errors.Is(listErr, ErrGone) {
		return Machine{}, listErr
	}
	ids := make([]string, 0, len(all))
	for _, r := range all {
		if r.MachineID != "" {
			ids = append(ids, r.MachineID)
		}
	}
	found := make([]Machine, len(ids))
	var reads errgroup.Group // which share calls
	for n, id := range ids {
		reads.Go(func() (err error) {
			if found[n], err = h.Machines.Machine(ctx, id); errors.Is(err, ErrNotFound) {
				err = nil
			}
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return Machine{}, err
	}
	if n := slices.IndexFunc(found, func(m Machine) bool { return Key(m.OwnerData[keyData]) == ref.Key }); n >= 0 {
		return found[n], nil
	}
	return m, err
}

// unseen refuses to give a machine back whose VM host is not found, for the
// given reason, where VMs may go with it.
func (h *hosts) unseen(ctx context.Context, ref Ref, m Machine, why error) error {
	if m.SystemID == "" || m.adopted() {
		return nil
	}
	if mine, err := h.mine(ctx, ref.Key, m); err != nil || !mine {
		return err
	}
	switch {
	case ref.Release.Force:
	case errors.Is(why, ErrGone) && m.OwnerData[addressData] != "":
		return &Refusal{
			Message: fmt.Sprintf("will not release machine %s: it runs the LXD at %s, and this MAAS no longer tells which VMs are on it", m.Hostname, m.OwnerData[addressData]),
			Hint:    `Set composer = "auto", so that the LXD is asked; or set force_destroy, if whatever is on it may be lost.`, Err: ErrGone,
		}
	default:
		if err := h.unknown(ctx, ref, m); err != nil {
			return err
		}
	}
	return h.unshared(ctx, m)
}

// unshared refuses where MAAS has other VM hosts on the machine: their VMs would
// go with it.
func (h *hosts) unshared(ctx context.Context, m Machine) error {
	all, err := h.Composer.Hosts(ctx)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.MachineID == m.SystemID {
			return &Refusal{
				Message: fmt.Sprintf("will not release machine %s: MAAS has another VM host on it, %s%s", m.Hostname, r.Name, r.number()),
				Hint:    "Remove that VM host first, if nobody needs it.", Err: ErrConflict,
			}
		}
	}
	return nil
}

// number is how MAAS calls the VM host, for people.
func (h VMHost) number() string {
	if h.ID == 0 {
		return ""
	}
	return fmt.Sprintf(" (id %d)", h.ID)
}

// forgetting is the pause after a VM host was removed: MAAS has forgotten it when
// it answers, and what was listed before is listed no more.
const forgetting = 200 * time.Millisecond

// unregister makes MAAS forget a VM host on which no VM is left.
func (h *hosts) unregister(ctx context.Context, ref Ref, m Machine, record VMHost) (Result[Host], error) {
	res := waiting(ref.Key, m, record, "Unregistering", "")
	quiet, err := h.quiet(ctx, h.locks, record, "")
	if err != nil {
		return res, err
	}
	defer quiet.end()
	ctx = quiet.ctx
	if !ref.Release.Force {
		err := h.empty(ctx, ref.Key, record)
		if on, ok := errors.AsType[*leavingError](err); ok {
			res.Reason, res.Message, res.After = "WaitingForVMs", on.Error(), shortly
			return res, nil
		}
		if err := errors.Join(err, h.unknown(ctx, ref, m)); err != nil {
			return res, err
		}
	}
	if m.SystemID == "" && record.MachineID != "" {
		if m, err = h.Machines.Machine(ctx, record.MachineID); err != nil && !errors.Is(err, ErrNotFound) {
			return res, err
		}
	}
	if err := errors.Join(h.letGoFirst(ctx, ref.Key, m, record), h.untagged(ctx, m)); err != nil {
		return res, err
	}
	others := h.beside(ctx, record)
	if err := quiet.do(func(ctx context.Context) error { return h.Registrar.Unregister(ctx, record) }); err != nil {
		return res, fmt.Errorf("cannot remove VM host %s: %w", record.Name, err)
	}
	quiet.gone = true
	h.restoreAll(ctx, others)
	h.Log.InfoContext(ctx, "removed VM host", "name", record.Name, "id", record.ID)
	res.Object.VMHost, res.After, res.Message = VMHost{}, forgetting, "MAAS has forgotten VM host "+record.Name
	return res, nil
}

// letGoFirst takes our marks off a machine that is not ours to release, while
// its VM host can still be found: once that is gone, nothing leads to them.
func (h *hosts) letGoFirst(ctx context.Context, key Key, m Machine, record VMHost) error {
	if Key(m.OwnerData[keyData]) != key || !m.adopted() || m.Owner == "" {
		return nil
	}
	if record.ID != 0 && !slices.Contains(record.Tags, marker(key)) { // one without an id is found by its machine
		if err := h.Registrar.TagHost(ctx, record, marker(key)); err != nil {
			return fmt.Errorf("cannot tag VM host %s: %w", record.Name, err)
		}
	}
	_, err := h.annotate(ctx, m, m.unmarked())
	return err
}

// unknown refuses while the LXD holds instances in the host's project of which
// MAAS may not know: they would go with the machine. An LXD that cannot be asked
// does not keep its host for ever.
func (h *hosts) unknown(ctx context.Context, ref Ref, m Machine) error {
	e := Endpoint{Address: m.OwnerData[addressData], Project: m.OwnerData[projectData]}
	if h.Probe == nil || ref.Release.Credentials.Key == "" || e.Address == "" || m.adopted() {
		return nil
	}
	server, err := h.Probe.Server(ctx, e, ref.Release.Credentials, m.pinned(ref, ""))
	switch {
	case errors.Is(err, ErrOtherServer):
		return fmt.Errorf("will not release machine %s without a look at what its LXD holds: %w", m.Hostname, err)
	case err != nil:
		h.Log.InfoContext(ctx, "cannot ask the LXD what it holds", "address", e.Address, "error", err)
		return ctx.Err()
	}
	if len(server.Instances) == 0 {
		return nil
	}
	return &Refusal{
		Message: fmt.Sprintf("will not release machine %s: project %q of its LXD holds %s", m.Hostname, e.Project, strings.Join(server.Instances, ", ")),
		Hint:    "Delete them first, or move them away. Instances of other projects cannot be seen from here.", Err: ErrConflict,
	}
}

// blind says that only its LXD knows what is on a host, and what lets it tell.
func blind(record VMHost, cause error) error {
	hint := "Bring its LXD back"
	if errors.Is(cause, ErrInvalid) || errors.Is(cause, ErrForbidden) { // it is there, and lets nobody in
		cause = Terminal(errors.New(cause.Error())) // whose hint knows nothing of the host
		hint = "Give a client key pair that has not expired and that its LXD trusts (on the host: lxc config trust add FILE.crt --restricted --projects PROJECT)"
	}
	return &Error{
		Type: HostUnavailable, Host: record.Name, Message: "cannot tell which VMs are on it", Err: cause,
		Hint: hint + ", and destroy again; or set force_destroy, if whatever is on it may be lost.",
	}
}

// leavingError says that VMs are on a host which go, or may: they are waited for.
type leavingError struct{ message string }

func (e *leavingError) Error() string { return e.message }

// residentLooks is the look at a host from which on its VMs of this program block its
// removal. The looks before give them time to show that they are being deleted: a front
// end may take them away at the same moment.
const residentLooks = 4

// empty refuses while MAAS has VMs on the host, and says whose they are. Those that
// are being deleted are waited for.
func (h *hosts) empty(ctx context.Context, key Key, record VMHost) error {
	listed, err := h.Composer.VMs(ctx, []VMHost{record})
	if errors.Is(err, ErrUnavailable) && record.ID == 0 {
		return blind(record, err)
	}
	if err != nil {
		return fmt.Errorf("cannot list the VMs on VM host %s: %w", record.Name, err)
	}
	var ours, leaving, foreign []string
	for _, m := range listed {
		switch key, _ := markedBy(m.Description); {
		case m.SystemID == "":
			foreign = append(foreign, m.Hostname+" (an instance that MAAS does not know)")
		case key != "" && h.leaves(ctx, key, m.Machine):
			leaving = append(leaving, m.Hostname)
		case key != "":
			ours = append(ours, fmt.Sprintf("%s (%s, of %s)", m.Hostname, m.SystemID, key))
		default:
			foreign = append(foreign, fmt.Sprintf("%s (%s)", m.Hostname, m.SystemID))
		}
	}
	switch {
	case len(ours)+len(leaving)+len(foreign) == 0:
		h.residents.forget(key)
		return nil
	case len(foreign) == 0 && len(leaving) > 0: // a front end may come to the others once these are gone
		h.residents.forget(key)
		return &leavingError{fmt.Sprintf("VM host %s goes once its VMs are deleted: %s", record.Name, strings.Join(append(leaving, ours...), ", "))}
	case len(foreign) == 0 && h.residents.count(key) < residentLooks:
		return &leavingError{fmt.Sprintf("VM host %s has VMs: %s", record.Name, strings.Join(ours, ", "))}
	}
	message := fmt.Sprintf("will not remove VM host %s, which has VMs", record.Name)
	if len(ours) > 0 {
		message += "; of this program: " + strings.Join(ours, ", ")
	}
	if len(foreign) > 0 {
		message += "; of others: " + strings.Join(foreign, ", ")
	}
	return &Refusal{Message: message, Hint: "Delete them first, or move them away.", Err: ErrConflict}
}

// leaves tells whether the VM of a key is being deleted: by this process, by MAAS, or
// by one with the same ledger. A runner that is thrown away has no row of the VM.
func (h *hosts) leaves(ctx context.Context, key Key, m Machine) bool {
	if m.Status.Phase() == PhaseReleasing || h.names.deletes(m.SystemID, h.Now()) {
		return true
	}
	row, err := h.Ledger.Row(ctx, key)
	return err == nil && row.State == RowLeaving
}
