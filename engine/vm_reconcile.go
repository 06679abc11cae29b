package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lookAgain is when a step is worth repeating although nothing was seen to
// change: the poller usually wakes the caller earlier.
const lookAgain = 30 * time.Second

// reconcile implements Kind.Reconcile.
func (v *vms) reconcile(ctx context.Context, ref Ref, want VMSpec) (Result[VM], error) {
	if err := want.Validate(); err != nil {
		return Result[VM]{}, err
	}
	if ref.Name == "" {
		ref.Name = want.Name
	}
	m, stranger, err := v.look(ctx, ref)
	switch {
	case err == nil && ref.SystemID == "":
		return v.resume(ctx, ref, want, m)
	case err == nil:
		return v.converge(ctx, ref, want, m)
	case !errors.Is(err, ErrNotFound):
		return Result[VM]{}, err
	case ref.SystemID != "":
		return Result[VM]{}, Terminal(err)
	case stranger != nil:
		return Result[VM]{}, taken(want.Name, *stranger, "")
	}
	return v.create(ctx, ref.Key, want)
}

// resume goes on with a VM that an earlier run began for this key.
func (v *vms) resume(ctx context.Context, ref Ref, want VMSpec, m Machine) (Result[VM], error) {
	if seenAs(m, ref.Key).Finished {
		return Result[VM]{}, known(want.Name, m)
	}
	if field, had, wanted := begunOtherwise(want, m); field != "" {
		return Result[VM]{}, &SpecError{
			Field:   field,
			Message: fmt.Sprintf("an earlier run began the VM %s (system id %s) with %s, and now it is to be %s", want.Name, m.SystemID, had, wanted),
			Hint:    fmt.Sprintf("Apply once with the former value, and then with this one; or delete machine %s in MAAS and apply again.", m.SystemID),
			Err:     ErrConflict,
		}
	}
	return v.converge(ctx, ref, want, m)
}

// memoryBlockMiB is how much of its memory a machine may not see: Linux counts
// in blocks of 128 MiB.
const memoryBlockMiB = 128

// begunOtherwise compares what cannot be changed any more, as far as MAAS
// shows it, and says what differs; an empty field if nothing does.
func begunOtherwise(want VMSpec, m Machine) (field, had, wanted string) {
	cores := max(want.Cores, len(want.PinnedCores))
	switch {
	case want.Host != m.HostName && want.Host != fmt.Sprint(m.HostID):
		return "vm_host", "VM host " + m.HostName, want.Host
	case m.Cores != 0 && m.Cores != cores:
		return "cores", fmt.Sprintf("%d cores", m.Cores), fmt.Sprint(cores)
	case m.MemoryMiB != 0 && (m.MemoryMiB > want.MemoryMiB || m.MemoryMiB <= want.MemoryMiB-memoryBlockMiB):
		return "memory_mib", fmt.Sprintf("%d MiB of memory", m.MemoryMiB), fmt.Sprint(want.MemoryMiB)
	case len(want.Interfaces) > 0 && len(want.Interfaces) != len(m.Interfaces):
		return "interfaces", fmt.Sprintf("%d interfaces", len(m.Interfaces)), fmt.Sprint(len(want.Interfaces))
	case m.Image != "" && want.Deploy == nil:
		return "deploy", m.Image + " installed", "left Ready"
	case m.Image != "" && want.Deploy.Image != "" && m.Image != want.Deploy.Image && !strings.HasSuffix(m.Image, "/"+want.Deploy.Image):
		return "deploy.image", m.Image, want.Deploy.Image
	}
	var sizes, wishes []int64
	for _, d := range m.Disks {
		sizes = append(sizes, d.SizeGB)
	}
	for _, d := range want.Disks {
		wishes = append(wishes, d.SizeGB)
	}
	if !slices.Equal(sizes, wishes) {
		return "disks", fmt.Sprintf("disks of %d GB", sizes), fmt.Sprint(wishes)
	}
	return "", "", ""
}

// converge takes a VM that exists one step towards the spec.
func (v *vms) converge(ctx context.Context, ref Ref, want VMSpec, m Machine) (Result[VM], error) {
	if err := v.bind(ctx, ref.Key, m); err != nil {
		return result(ref.Key, m), err
	}
	settled := settled(ref, want, m)
	m, err := v.settle(ctx, ref.Key, want, m, settled)
	switch {
	case err != nil:
		return result(ref.Key, m), err
	case settled:
		// It once was what was wanted. Whatever state it is in now is for
		// people to mend, or for the plan of a front end.
		res := result(ref.Key, m)
		res.Done = true
		return res, nil
	}
	res, err := v.advance(ctx, ref.Key, want, m)
	if err != nil && res.systemID == "" {
		res = result(ref.Key, m)
	}
	return res, err
}

// settled reports whether the VM once reached what is wanted: because the
// caller knows it, or because it says so itself and no installation is wanted
// since.
func settled(ref Ref, want VMSpec, m Machine) bool {
	_, finished := described(m.Description)
	return ref.Finished || finished && !undeployed(want, m)
}

func result(key Key, m Machine) Result[VM] {
	return Result[VM]{
		Object: seenAs(m, key), systemID: m.SystemID,
		Reason: strings.ReplaceAll(m.StatusName, " ", ""), Message: m.StatusMessage,
	}
}

func (v *vms) bind(ctx context.Context, key Key, m Machine) error {
	row, err := v.Ledger.Row(ctx, key)
	switch {
	case err == nil && row.State == RowLeaving:
		return fmt.Errorf("%s is being deleted: %w", m.Hostname, ErrBusy)
	case err == nil && row.SystemID == m.SystemID && row.State == RowBound:
		return nil
	}
	if err := v.Ledger.Bind(ctx, boundTo(key, m)); err != nil {
		return fmt.Errorf("cannot bind %s to %s in the ledger: %w", key, m.SystemID, err)
	}
	return nil
}

// settle changes what MAAS lets one change at any time: marker, name, zone,
// pool, domain in one call, then tags.
func (v *vms) settle(ctx context.Context, key Key, want VMSpec, m Machine, finished bool) (Machine, error) {
	update, after := difference(key, want, m, finished)
	var missing, surplus []string
	for _, tag := range want.Tags {
		if !slices.Contains(m.Tags, tag) {
			missing = append(missing, tag)
		}
	}
	for _, tag := range want.RemovedTags {
		if slices.Contains(m.Tags, tag) && !slices.Contains(want.Tags, tag) {
			surplus = append(surplus, tag)
		}
	}
	if update != (MachineUpdate{}) {
		if err := v.update(ctx, want, m, update); err != nil {
			return m, err
		}
		m = after
	}
	for _, tag := range missing {
		if err := v.Machines.Tag(ctx, m.SystemID, tag); err != nil {
			return m, fmt.Errorf("cannot tag %s with %q: %w", m.Hostname, tag, err)
		}
	}
	for _, tag := range surplus {
		if err := v.Machines.Untag(ctx, m.SystemID, tag); err != nil {
			return m, fmt.Errorf("cannot take tag %q off %s: %w", tag, m.Hostname, err)
		}
	}
	m.Tags = slices.DeleteFunc(append(slices.Clone(m.Tags), missing...), func(t string) bool {
		return slices.Contains(surplus, t)
	})
	slices.Sort(m.Tags)
	return m, nil
}

// difference says what Update has to change, and what the machine is after it.
func difference(key Key, want VMSpec, m Machine, finished bool) (MachineUpdate, Machine) {
	var u MachineUpdate
	set := func(field **string, have *string, wanted string) {
		if wanted != "" && wanted != *have {
			*field, *have = &wanted, wanted
		}
	}
	set(&u.Description, &m.Description, describe(m.Description, key, finished))
	set(&u.Zone, &m.Zone, want.Zone)
	set(&u.Pool, &m.Pool, want.Pool)
	set(&u.Domain, &m.Domain, want.Domain)
	set(&u.Hostname, &m.Hostname, want.Name)
	return u, m
}

// undeployed reports whether there is an installation to be made.
func undeployed(want VMSpec, m Machine) bool {
	phase := m.Status.Phase()
	return want.Deploy != nil && (phase == PhaseReady || phase == PhaseAllocated)
}

func (v *vms) update(ctx context.Context, want VMSpec, m Machine, u MachineUpdate) error {
	if m.Locked {
		return locked(m, "change")
	}
	names := want
	if u.Zone == nil {
		names.Zone = ""
	}
	if u.Pool == nil {
		names.Pool = ""
	}
	if u.Domain == nil {
		names.Domain = ""
	}
	if err := v.checkNames(ctx, names); err != nil {
		return err
	}
	if err := v.Machines.Update(ctx, m.SystemID, u); err != nil {
		return fmt.Errorf("cannot change %s: %w", m.Hostname, refused(err))
	}
	if u.Hostname != nil || u.Zone != nil || u.Pool != nil || u.Domain != nil {
		v.Log.InfoContext(ctx, "changed VM", "name", want.Name, "system_id", m.SystemID)
	}
	return nil
}

func locked(m Machine, verb string) error {
	return &Refusal{
		Message: fmt.Sprintf("cannot %s %s: it is locked in MAAS", verb, m.Hostname),
		Hint:    fmt.Sprintf("Unlock machine %s in MAAS first.", m.SystemID), Err: ErrConflict,
	}
}

// advance does the one thing that the phase asks for.
func (v *vms) advance(ctx context.Context, key Key, want VMSpec, m Machine) (Result[VM], error) {
	switch phase := m.Status.Phase(); {
	case m.Status == StatusNew, phase == PhaseReady && born(m, key):
		return v.commission(ctx, key, m)
	case phase == PhaseReady, phase == PhaseAllocated:
		return v.install(ctx, key, want, m)
	case phase == PhaseDeployed:
		return v.finish(ctx, key, m)
	case phase == PhaseFailed:
		return Result[VM]{}, failed(m)
	default:
		return v.wait(ctx, key, m), nil
	}
}

func (v *vms) wait(ctx context.Context, key Key, m Machine) Result[VM] {
	res := result(key, m)
	res.After = lookAgain
	res.changed = v.Machines.Changed(ctx, m)
	return res
}

func (v *vms) commission(ctx context.Context, key Key, m Machine) (Result[VM], error) {
	if err := v.Machines.Commission(ctx, m.SystemID); err != nil {
		return Result[VM]{}, fmt.Errorf("cannot commission %s: %w", m.Hostname, v.moved(ctx, m, err))
	}
	v.Log.InfoContext(ctx, "commissioning VM", "name", m.Hostname, "system_id", m.SystemID)
	return v.wait(ctx, key, m), nil
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
	return v.wait(ctx, key, m), nil
}

// unallocated refuses to install on a VM that someone else has allocated in
// the meantime.
func (v *vms) unallocated(ctx context.Context, m Machine) error {
	if m.Owner == "" {
		return nil
	}
	can, err := v.Catalog.Capabilities(ctx)
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
			return &SpecError{
				Field: field + ".ip", Message: fmt.Sprintf("%s cannot have the address %s", m.Hostname, i.IP), Err: err,
				Hint: "It must be free, in the subnet, and outside its dynamic ranges.",
			}
		case err != nil:
			return fmt.Errorf("cannot give %s the address %s: %w", m.Hostname, i.IP, err)
		}
	}
	return nil
}

func linked(have MachineInterface, want Interface) bool {
	return slices.ContainsFunc(have.Links, func(l InterfaceLink) bool {
		return l.Mode == "static" && l.IP == want.IP.String()
	})
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
func (v *vms) moved(ctx context.Context, m Machine, refusal error) error {
	if !errors.Is(refusal, ErrConflict) && !errors.Is(refusal, ErrInvalid) {
		return refusal
	}
	now, err := v.Machines.Machine(ctx, m.SystemID)
	if err != nil || now.Status == m.Status {
		return refusal
	}
	return fmt.Errorf("%s is %s by now: %w", m.Hostname, now.StatusName, ErrBusy)
}
