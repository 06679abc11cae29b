package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// AsVM is the machine as the VM of a key.
func AsVM(m engine.Machine, key engine.Key) engine.VM {
	owner, finished := engine.MarkerIn(m.Description)
	return engine.VM{
		Machine:        m,
		Ours:           owner == engine.MarkerOf(key) || owner == "" && engine.CarriesBirthMark(m, key),
		TakenOver:      m.IsMarkedByAnotherOwner(key),
		Finished:       finished,
		RestartPending: m.OwnerData[engine.RestartData] != "",
	}
}

// FollowMovedVM follows a VM that failed before it was ever Ready and was made on another host.
// The caller may have been interrupted before it learned the new system id. Then only the
// ledger knows it.
func (mk *Maker) FollowMovedVM(ctx context.Context, ref engine.Ref) (engine.Ref, error) {
	if ref.SystemID == "" || ref.Finished {
		return ref, nil
	}
	row, err := mk.Row(ctx, ref.Key)
	if err != nil || row.Attempt < 2 || row.SystemID == ref.SystemID {
		return ref, err
	}
	if _, err := mk.Machines.Machine(ctx, ref.SystemID); !errors.Is(err, engine.ErrNotFound) {
		return ref, err
	}
	if row.SystemID != "" {
		m, err := mk.Machines.Machine(ctx, row.SystemID)
		if err == nil && m.IsMarkedByAnother(ref.Key) || err != nil && !errors.Is(err, engine.ErrNotFound) {
			return ref, err
		}
	}
	ref.SystemID = row.SystemID
	return ref, nil
}

// FindVM finds the VM of a ref by its system id, by the ledger's row, or by its marker on a
// machine of that name. With ErrNotFound it also returns the machine that has the name without
// being ours, if there is one.
func (mk *Maker) FindVM(ctx context.Context, ref engine.Ref) (ours engine.Machine, stranger *engine.Machine, err error) {
	if ref.SystemID != "" {
		m, err := mk.Machines.Machine(ctx, ref.SystemID)
		return m, nil, err
	}
	row, err := mk.Row(ctx, ref.Key)
	if err != nil {
		return engine.Machine{}, nil, err
	}
	if row.SystemID != "" {
		m, err := mk.Machines.Machine(ctx, row.SystemID)
		switch {
		case err == nil && m.IsMarkedByAnother(ref.Key) && m.Hostname != ref.Name && ref.Name != "":
			// Its row still has its former key, and the name of that key is free.
			return engine.Machine{}, &m, fmt.Errorf("%s (%s) was renamed: %w", m.Hostname, m.SystemID, engine.ErrNotFound)
		case err == nil && m.IsMarkedByAnother(ref.Key):
			return engine.Machine{}, &m, fmt.Errorf("%s (%s) now belongs to another owner: %w", m.Hostname, m.SystemID, engine.ErrNotFound)
		case !errors.Is(err, engine.ErrNotFound):
			return m, nil, err
		}
	}
	named, err := mk.Machines.MachinesNamed(ctx, ref.Name)
	if err == nil && row.SystemID == "" && row.Name != "" && row.Name != ref.Name { // the name that it is made with
		var made []engine.Machine
		made, err = mk.Machines.MachinesNamed(ctx, row.Name)
		named = append(slices.Clone(named), made...)
	}
	if err != nil {
		return engine.Machine{}, nil, err
	}
	for _, m := range named {
		if AsVM(m, ref.Key).Ours {
			return m, nil, nil
		}
		if m.Hostname == ref.Name {
			stranger = &m
		}
	}
	return engine.Machine{}, stranger, fmt.Errorf("MAAS has no VM %s with our mark: %w", ref.Name, engine.ErrNotFound)
}

// Row is the ledger's row of a key, the zero Row if there is none.
func (mk *Maker) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	row, err := mk.Ledger.Row(ctx, key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.Row{}, fmt.Errorf("cannot read the ledger: %w", err)
	}
	return row, nil
}

// HostOf finds the VM host that a VM runs on; ErrConflict if it runs on none.
func (f *Finder) HostOf(ctx context.Context, m engine.Machine) (engine.VMHost, error) {
	host, err := f.Composer.HostOf(ctx, m)
	if err != nil {
		return engine.VMHost{}, fmt.Errorf("cannot find the VM host of %s (%s): %w", m.Hostname, m.SystemID, err)
	}
	return host, nil
}

// FindHost finds the VM host that a spec names by its name, its id, or the system id of its
// machine. Names of VM hosts need not be unique.
func (f *Finder) FindHost(ctx context.Context, wanted string) (engine.VMHost, error) {
	found, hosts, err := engine.FindInList(ctx, f.Names, engine.ListHosts, f.Composer.Hosts, func(h engine.VMHost) bool { return h.MatchesName(wanted) })
	if err != nil {
		return engine.VMHost{}, err
	}
	names := make([]string, len(hosts))
	for n, h := range hosts {
		names[n] = h.Name
	}
	switch len(found) {
	case 0:
		return engine.VMHost{}, engine.UnknownNameError(fieldpath.New("vm_host"), "VM host", wanted, names)
	case 1:
		return found[0], nil
	default:
		if ours, ok := f.hostMadeHere(ctx, wanted, found); ok {
			return ours, nil
		}
		ids := make([]string, len(found))
		for n, h := range found {
			ids[n] = h.SpecID()
		}
		return engine.VMHost{}, &engine.SpecError{
			Field:   fieldpath.New("vm_host"),
			Message: fmt.Sprintf("%d VM hosts of MAAS have the name %q", len(found), wanted),
			Hint:    "Name one by its id: " + engine.JoinNames(ids) + ".",
		}
	}
}

// hostMadeHere chooses among several VM hosts of one machine the one that this program
// registered. Others may register further projects of its LXD at any time.
func (f *Finder) hostMadeHere(ctx context.Context, machine string, hosts []engine.VMHost) (engine.VMHost, bool) {
	if slices.ContainsFunc(hosts, func(h engine.VMHost) bool { return h.MachineID != machine }) {
		return engine.VMHost{}, false
	}
	m, err := f.Machines.Machine(ctx, machine)
	if err != nil || m.NotedVMHostID() == 0 {
		return engine.VMHost{}, false
	}
	i := slices.IndexFunc(hosts, func(h engine.VMHost) bool { return h.ID == m.NotedVMHostID() })
	if i < 0 {
		return engine.VMHost{}, false
	}
	return hosts[i], true
}

// BindVM notes in the ledger that a machine is the VM of a key. A leaving row is made anew: its
// VM is wanted again.
func (mk *Maker) BindVM(ctx context.Context, key engine.Key, group string, m engine.Machine) error {
	row, err := mk.Row(ctx, key)
	switch {
	case err != nil:
		return err
	case row.SystemID == m.SystemID && row.State == engine.RowBound:
		return nil
	}
	bound, err := mk.boundRowOf(ctx, key, group, m)
	if err != nil {
		return err
	}
	if row.State == engine.RowLeaving {
		// A delete was interrupted, and the VM is wanted again.
		if err := mk.Ledger.Drop(ctx, row); err != nil {
			return err
		}
		bound.Need, bound.Attempt, bound.Excluded = row.Need, row.Attempt, row.Excluded
	}
	if err := mk.Ledger.Bind(ctx, bound); err != nil {
		return fmt.Errorf("cannot bind %s to %s in the ledger: %w", key, m.SystemID, err)
	}
	return nil
}

// IsOnHost tells whether the VM runs on the VM host with this name or id.
func IsOnHost(m engine.Machine, host string) bool {
	return host == m.HostName || host == fmt.Sprint(m.HostID)
}
