package engine

import (
	"context"
	"errors"
	"fmt"
)

func (v *vms) commission(ctx context.Context, key Key, m Machine) (Result[VM], error) {
	if err := v.inherit(ctx, m); err != nil {
		return Result[VM]{}, err
	}
	if err := v.Machines.Commission(ctx, m.SystemID); err != nil {
		return Result[VM]{}, fmt.Errorf("cannot commission %s: %w", m.Hostname, v.moved(ctx, m, err))
	}
	v.Log.InfoContext(ctx, "commissioning VM", "name", m.Hostname, "system_id", m.SystemID)
	return v.wait(ctx, key, m.in(StatusCommissioning)), nil
}

// install deploys a Ready VM, or finishes it where it is to stay Ready.
func (v *vms) install(ctx context.Context, key Key, want VMSpec, m Machine) (Result[VM], error) {
	if want.Deploy == nil {
		if err := v.link(ctx, want, m); err != nil {
			return Result[VM]{}, err
		}
		return v.finish(ctx, key, m)
	}
	if err := v.unallocated(ctx, m); err != nil {
		return Result[VM]{}, err
	}
	if err := v.checkImage(ctx, want.Deploy); err != nil {
		return Result[VM]{}, err
	}
	if err := v.link(ctx, want, m); err != nil {
		return Result[VM]{}, err
	}
	if err := v.Machines.Deploy(ctx, m.SystemID, *want.Deploy); err != nil {
		return Result[VM]{}, &Error{
			Type: VMDeploymentFailed, Host: m.HostName,
			Message: fmt.Sprintf("cannot deploy %s", m.Hostname), Err: v.moved(ctx, m, refused(err)),
		}
	}
	v.Log.InfoContext(ctx, "deploying VM", "name", m.Hostname, "system_id", m.SystemID, "image", want.Deploy.Image)
	return v.wait(ctx, key, m.in(StatusDeploying)), nil
}

// unallocated refuses to install on a VM that someone else has allocated in
// the meantime.
func (c Config) unallocated(ctx context.Context, m Machine) error {
	if m.Owner == "" {
		return nil
	}
	can, err := c.Catalog.Capabilities(ctx)
	if err != nil || can.Username == m.Owner {
		return err
	}
	return &Refusal{
		Message: fmt.Sprintf("cannot deploy %s: it is allocated to the MAAS user %s", m.Hostname, m.Owner),
		Hint:    fmt.Sprintf("Release machine %s in MAAS, or choose another name.", m.SystemID), Err: ErrConflict,
	}
}

// link gives interfaces their fixed addresses. MAAS keeps them only as static
// links of the commissioned machine, not as compose's ip=.
func (v *vms) link(ctx context.Context, want VMSpec, m Machine) error {
	for n, i := range want.Interfaces {
		if !i.IP.IsValid() || n < len(m.Interfaces) && linked(m.Interfaces[n], i) {
			continue
		}
		field := "interfaces." + i.Name
		if n >= len(m.Interfaces) {
			return &SpecError{Field: field, Message: fmt.Sprintf("MAAS sees only %d interfaces on %s", len(m.Interfaces), m.Hostname), Err: ErrConflict}
		}
		subnet, err := v.subnet(ctx, field, i.Subnet)
		if err != nil {
			return err
		}
		err = v.Machines.Link(ctx, m.SystemID, m.Interfaces[n].ID, subnet, i.IP.String())
		switch {
		case errors.Is(err, ErrConflict), errors.Is(err, ErrInvalid):
			return v.unlinkable(ctx, field+".ip", subnet, i.IP, m, v.moved(ctx, m, err))
		case err != nil:
			return fmt.Errorf("cannot give %s the address %s: %w", m.Hostname, i.IP, err)
		}
	}
	return nil
}

func linked(have MachineInterface, want Interface) bool {
	return linkedTo(have.Links, want.IP)
}

// finish notes on the machine that it is what was wanted.
func (v *vms) finish(ctx context.Context, key Key, m Machine) (Result[VM], error) {
	if description := describe(m.Description, key, true); description != m.Description {
		if err := v.Machines.Update(ctx, m.SystemID, MachineUpdate{Description: &description}); err != nil {
			return Result[VM]{}, fmt.Errorf("cannot mark %s as finished: %w", m.Hostname, err)
		}
		m.Description = description
	}
	res := result(key, m)
	res.Done = true
	return res, nil
}

// failed says in MAAS's words why a VM did not come to be.
func failed(m Machine) error {
	kind := VMCreationFailed
	if m.Status == StatusFailedDeployment {
		kind = VMDeploymentFailed
	}
	message := fmt.Sprintf("%s ended in the state %q", m.Hostname, m.StatusName)
	if m.StatusMessage != "" {
		message += ": " + m.StatusMessage
	}
	return Terminal(&Error{
		Type: kind, Host: m.HostName, Message: message,
		Hint: fmt.Sprintf("MAAS's events of machine %s tell more.", m.SystemID),
	})
}

// moved judges a refusal by looking. If the machine's status changed between
// the look and the call, the next step knows better; else the refusal stands.
func (c Config) moved(ctx context.Context, m Machine, refusal error) error {
	if !errors.Is(refusal, ErrConflict) && !errors.Is(refusal, ErrInvalid) {
		return refusal
	}
	now, err := c.Machines.Machine(ctx, m.SystemID)
	if err != nil || now.Status == m.Status {
		return refusal
	}
	return fmt.Errorf("%s is %s by now: %w", m.Hostname, now.StatusName, ErrBusy)
}
