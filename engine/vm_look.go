package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// composeWindow is, unless configured, how long a compose may still bear fruit after its caller
// lost it. MAAS goes on for up to 120 s (compose(timeout=120) in the region);
// the rest is for the commit and for clocks.
const composeWindow = 130 * time.Second

// vms implements the kind VM.
type vms struct {
	Config
	hosts    *hostLocks
	networks *hostNets
	projects *hostProjects
	tries    *tries // composes that failed
	sweeps   intervals
	claims   *claims // fixed addresses of VMs that are being made
	names    *namesLeft
	there    sync.Map // system ids of VMs whose instances were made, or seen, by this process

	leftovers leftovers
}

// observe implements Kind.Observe.
func (v *vms) observe(ctx context.Context, ref Ref) (VM, error) {
	ref, err := v.follow(ctx, ref)
	if err != nil {
		return VM{}, err
	}
	m, _, err := v.look(ctx, ref)
	if err != nil {
		return VM{}, err
	}
	return seenAs(v.Composer.Complete(ctx, m), ref.Key), nil
}

func seenAs(m Machine, key Key) VM {
	owner, finished := described(m.Description)
	return VM{
		Machine:  m,
		Ours:     owner == marker(key) || owner == "" && born(m, key),
		Finished: finished,
	}
}

// follow turns to where a VM went that failed before it was ever Ready: the
// caller may have been cut off before it learned the new system id, and then
// only the ledger knows it.
func (v *vms) follow(ctx context.Context, ref Ref) (Ref, error) {
	if ref.SystemID == "" || ref.Finished {
		return ref, nil
	}
	row, err := v.row(ctx, ref.Key)
	if err != nil || row.Attempt < 2 || row.SystemID == ref.SystemID {
		return ref, err
	}
	if _, err := v.Machines.Machine(ctx, ref.SystemID); !errors.Is(err, ErrNotFound) {
		return ref, err
	}
	if row.SystemID != "" {
		m, err := v.Machines.Machine(ctx, row.SystemID)
		if err == nil && m.markedByAnother(ref.Key) || err != nil && !errors.Is(err, ErrNotFound) {
			return ref, err
		}
	}
	ref.SystemID = row.SystemID
	return ref, nil
}

// look finds the VM of a ref: by its system id, by what the ledger knows, by
// its marker on a machine of that name. With ErrNotFound it also returns a
// machine that has the name without being ours, if there is one.
func (v *vms) look(ctx context.Context, ref Ref) (ours Machine, stranger *Machine, err error) {
	if ref.SystemID != "" {
		m, err := v.Machines.Machine(ctx, ref.SystemID)
		return m, nil, err
	}
	row, err := v.row(ctx, ref.Key)
	if err != nil {
		return Machine{}, nil, err
	}
	if row.SystemID != "" {
		m, err := v.Machines.Machine(ctx, row.SystemID)
		switch {
		case err == nil && m.markedByAnother(ref.Key) && m.Hostname != ref.Name && ref.Name != "":
			// It was renamed: its row has its former key, whose name it has left.
			return Machine{}, &m, fmt.Errorf("%s (%s) was renamed: %w", m.Hostname, m.SystemID, ErrNotFound)
		case err == nil && m.markedByAnother(ref.Key):
			return Machine{}, &m, fmt.Errorf("%s (%s) is another owner's by now: %w", m.Hostname, m.SystemID, ErrNotFound)
		case !errors.Is(err, ErrNotFound):
			return m, nil, err
		}
	}
	named, err := v.Machines.MachinesNamed(ctx, ref.Name)
	if err == nil && row.SystemID == "" && row.Name != "" && row.Name != ref.Name { // what it is made as
		var made []Machine
		made, err = v.Machines.MachinesNamed(ctx, row.Name)
		named = append(slices.Clone(named), made...)
	}
	if err != nil {
		return Machine{}, nil, err
	}
	for _, m := range named {
		if seenAs(m, ref.Key).Ours {
			return m, nil, nil
		}
		if m.Hostname == ref.Name {
			stranger = &m
		}
	}
	return Machine{}, stranger, fmt.Errorf("no VM %s of ours: %w", ref.Name, ErrNotFound)
}

// row is the ledger's row of a key, the zero Row if there is none.
func (v *vms) row(ctx context.Context, key Key) (Row, error) {
	row, err := v.Ledger.Row(ctx, key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Row{}, fmt.Errorf("cannot read the ledger: %w", err)
	}
	return row, nil
}

// unclear says for how long the row's compose may still bear fruit. A clock that
// was put back since must not make that longer than a compose can take, and one that
// was put forward must not make it shorter than this process knows it to be.
func (c Config) unclear(row Row) time.Duration {
	if row.SystemID != "" {
		return 0
	}
	left := c.ComposeWindow - c.Now().Sub(row.Since)
	if sent, ok := c.Region.sent.Load(row.Token); ok {
		left = max(left, c.ComposeWindow-time.Since(sent.(time.Time)))
	}
	return min(c.ComposeWindow, max(0, left))
}

// hostOf finds the VM host that a VM runs on; ErrConflict if it runs on none.
func (v *vms) hostOf(ctx context.Context, m Machine) (VMHost, error) {
	host, err := v.Composer.HostOf(ctx, m)
	if err != nil {
		return VMHost{}, fmt.Errorf("cannot tell the VM host of %s (%s): %w", m.Hostname, m.SystemID, err)
	}
	return host, nil
}

// id is by what a spec can name the host, whatever others are called.
func (h VMHost) id() string {
	if h.ID == 0 {
		return h.MachineID
	}
	return fmt.Sprint(h.ID)
}

// host finds the VM host that a spec names by its name, its id, or the system
// id of its machine. Names of VM hosts need not be unique.
func (v *vms) host(ctx context.Context, wanted string) (VMHost, error) {
	found, hosts, err := find(ctx, v.Names, ListHosts, v.Composer.Hosts, func(h VMHost) bool { return h.answersTo(wanted) })
	if err != nil {
		return VMHost{}, err
	}
	names := make([]string, len(hosts))
	for n, h := range hosts {
		names[n] = h.Name
	}
	switch len(found) {
	case 0:
		return VMHost{}, unknown("vm_host", "VM host", wanted, names)
	case 1:
		return found[0], nil
	default:
		return VMHost{}, &SpecError{
			Field:   "vm_host",
			Message: fmt.Sprintf("%d VM hosts of MAAS answer to %q", len(found), wanted),
			Hint:    fmt.Sprintf("Name one by its id: %s, %s, ….", found[0].id(), found[1].id()),
		}
	}
}
