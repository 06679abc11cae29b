package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// delete implements Kind.Delete: see that no VM is left, make MAAS forget the
// VM host, give the machine back. MAAS is never asked to do both at once: its
// forced release deletes the VM host with all machines on it.
func (h *hosts) delete(ctx context.Context, ref Ref) (Result[Host], error) {
	m, err := h.look(ctx, ref)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Result[Host]{}, err
	}
	if err == nil && m.Owner != "" {
		mine, err := h.mine(ctx, ref.Key, m)
		switch {
		case err != nil:
			return Result[Host]{}, err
		case !mine:
			return waiting(ref.Key, m, VMHost{}, "", ""), strange(m, "release")
		}
	}
	record, findErr := h.record(ctx, ref.Key, m)
	switch {
	case findErr == nil:
		return h.unregister(ctx, ref, m, record)
	case errors.Is(findErr, ErrGone), errors.Is(findErr, ErrNotFound):
	default:
		return Result[Host]{}, findErr
	}
	if errors.Is(err, ErrNotFound) {
		return Result[Host]{Done: true}, nil
	}
	if err := h.unshared(ctx, m); err != nil {
		return waiting(ref.Key, m, VMHost{}, "", ""), err
	}
	res, err := h.metal.delete(ctx, ref)
	return hostResult(ref.Key, res, VMHost{}), err
}

// unshared refuses to give a machine back on which MAAS has other VM hosts:
// their VMs would go with it.
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
				Message: fmt.Sprintf("will not release machine %s: MAAS has another VM host on it, %s (id %d)", m.Hostname, r.Name, r.ID),
				Hint:    "Remove that VM host first, if nobody needs it.", Err: ErrConflict,
			}
		}
	}
	return nil
}

// unregister makes MAAS forget a VM host on which no VM is left.
func (h *hosts) unregister(ctx context.Context, ref Ref, m Machine, record VMHost) (Result[Host], error) {
	res := waiting(ref.Key, m, record, "Unregistering", "")
	if err := h.quiet(ctx, record); err != nil {
		return res, err
	}
	unlock, err := h.locks.alone(ctx, record.ID)
	if err != nil {
		return res, err
	}
	defer unlock()
	if err := h.empty(ctx, record); err != nil {
		return res, err
	}
	if err := h.Registrar.Unregister(ctx, record.ID); err != nil {
		return res, fmt.Errorf("cannot remove VM host %s: %w", record.Name, err)
	}
	h.Log.InfoContext(ctx, "removed VM host", "name", record.Name, "id", record.ID)
	res.Object.VMHost, res.After, res.Message = VMHost{}, shortly, "MAAS has forgotten VM host "+record.Name
	return res, nil
}

// empty refuses while MAAS has VMs on the host, and says whose they are.
func (h *hosts) empty(ctx context.Context, record VMHost) error {
	listed, err := h.Machines.MachinesWhere(ctx, MachineFilter{Hosts: []string{record.Name}})
	if err != nil {
		return fmt.Errorf("cannot list the VMs on VM host %s: %w", record.Name, err)
	}
	var ours, foreign []string
	for _, m := range listed {
		switch key, _ := markedBy(m.Description); {
		case m.HostID != record.ID: // VM hosts may share a name
		case key != "":
			ours = append(ours, fmt.Sprintf("%s (%s, of %s)", m.Hostname, m.SystemID, key))
		default:
			foreign = append(foreign, fmt.Sprintf("%s (%s)", m.Hostname, m.SystemID))
		}
	}
	if len(ours)+len(foreign) == 0 {
		return nil
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
