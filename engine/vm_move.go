package engine

import (
	"context"
	"errors"
	"fmt"
)

// maxAttempts bounds the hosts on which a VM that fails there is tried.
const maxAttempts = 3

// move takes a VM that failed before it was ever Ready off its host, to be
// made on another one. It is the only thing that is removed without being
// asked for: nothing has run on it.
func (v *vms) move(ctx context.Context, key Key, want VMSpec, m Machine) (Result[VM], error) {
	row, err := v.row(ctx, key)
	if err != nil {
		return Result[VM]{}, err
	}
	owner, finished := described(m.Description)
	if want.Host != "" || owner != marker(key) || finished || row.Attempt >= maxAttempts {
		return Result[VM]{}, failed(m)
	}
	host, err := v.hostOf(ctx, m)
	switch {
	case errors.Is(err, ErrConflict):
		return Result[VM]{}, failed(m)
	case err != nil:
		return Result[VM]{}, err
	}
	where, err := v.sites(ctx, key, want, append(row.Excluded, host.HostKey))
	var short *Error
	switch {
	case errors.As(err, &short) && short.Type == InsufficientResources:
		return Result[VM]{}, failed(m) // there is no better place
	case err != nil:
		return Result[VM]{}, err
	}
	res := result(key, m)
	res.Reason, res.Message = "Moving", fmt.Sprintf("%s ended in the state %q on VM host %s, and goes to another", m.Hostname, m.StatusName, host.Name)
	off, err := v.off(ctx, key, m)
	if err != nil || !off {
		res.After = shortly
		return res, err
	}
	if err := v.Composer.Decompose(ctx, m.SystemID); err != nil {
		return res, fmt.Errorf("cannot delete %s: %w", m.Hostname, err)
	}
	if _, err = v.Machines.Machine(ctx, m.SystemID); !errors.Is(err, ErrNotFound) {
		res.After = shortly
		return res, err
	}
	v.Log.InfoContext(ctx, "removed VM, to be made on another host", "name", m.Hostname, "host", host.Name, "system_id", m.SystemID)
	again, err := v.makeElsewhere(ctx, where, row, want)
	again.moved = again.systemID == ""
	return again, err
}

// makeElsewhere begins the next attempt at once: a row that is only reserved
// would look like a compose whose reply was lost.
func (v *vms) makeElsewhere(ctx context.Context, where sites, row Row, want VMSpec) (Result[VM], error) {
	next, fresh, err := v.moveFrom(ctx, where, row, want)
	switch {
	case err != nil:
		return Result[VM]{Reason: "Moving"}, v.unreserved(ctx, want, err)
	case !fresh:
		return Result[VM]{Reason: "Moving", After: shortly}, nil
	}
	return v.composeOn(ctx, where, next, want)
}
