package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// Wanted is a VM that is to be made.
type Wanted struct {
	Key  Key
	Spec VMSpec
}

// Finding is what stands in the way of a wanted VM.
type Finding struct {
	Key Key
	Err error // a *SpecError or *Error, as Reconcile would return it
}

// Check says which of the wanted VMs could not be made now, all of them
// together: what is spelled wrong, whose name is taken, what does not fit
// beside the others. VMs of ours that exist already take no more room. It
// changes nothing and reserves nothing, so it promises nothing either; the
// findings are in the order of what is wanted. The error is for what could not
// be looked up.
func (e *Engine) Check(ctx context.Context, wanted []Wanted) ([]Finding, error) {
	v := e.vms
	if err := v.capable(ctx); err != nil {
		return nil, err
	}
	fleet, err := v.checkFleet(ctx)
	if err != nil {
		return nil, err
	}
	looks := make([]error, len(wanted))
	exists := make([]bool, len(wanted))
	var reads errgroup.Group
	for n, w := range wanted {
		reads.Go(func() (err error) {
			exists[n], looks[n], err = v.checkOne(ctx, w)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	var findings []Finding
	for n, w := range wanted {
		found := looks[n]
		if found == nil && !exists[n] {
			if found, err = v.checkRoom(ctx, fleet, w); err != nil {
				return nil, err
			}
		}
		if found != nil {
			findings = append(findings, Finding{w.Key, found})
		}
	}
	return findings, nil
}

// checkFleet is the hosts as placement sees them, what the ledger has promised
// taken off.
func (v *vms) checkFleet(ctx context.Context) (*checkedFleet, error) {
	hosts, err := v.Composer.Hosts(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the VM hosts: %w", err)
	}
	promised, err := v.Ledger.Pending(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read the ledger: %w", err)
	}
	networks := make([]string, len(hosts))
	for n, h := range hosts {
		networks[n] = h.MachineID
	}
	attached, err := v.networks.of(ctx, v.Machines, networks)
	if err != nil {
		return nil, err
	}
	placeable := make([]placement.Host, len(hosts))
	for n, h := range hosts {
		placeable[n] = h.placeable()
		placeable[n].Networks = attached[h.MachineID]
		for _, row := range promised {
			if row.HostKey == h.HostKey {
				placeable[n].Cores.Used += row.Need.Cores
				placeable[n].MemoryMiB.Used += row.Need.MemoryMiB
				for p := range placeable[n].StoragePools {
					pool := &placeable[n].StoragePools[p]
					pool.FreeBytes = max(0, pool.FreeBytes-row.Need.DiskBytes[pool.Name])
				}
			}
		}
	}
	return &checkedFleet{hosts: hosts, room: placement.NewFleet(placeable)}, nil
}

type checkedFleet struct {
	hosts []VMHost
	room  *placement.Fleet
}

// others lists all hosts but one.
func (f *checkedFleet) others(than VMHost) []string {
	var ids []string
	for _, h := range f.hosts {
		if h.HostKey != than.HostKey {
			ids = append(ids, h.HostKey)
		}
	}
	return ids
}

// checkOne looks for everything that a spec names, and for its VM. A finding
// is what the user can mend; err is what could not be looked up.
func (v *vms) checkOne(ctx context.Context, w Wanted) (exists bool, finding, err error) {
	for _, check := range []func() error{
		w.Spec.Validate,
		func() error { return v.checkNames(ctx, w.Spec) },
		func() error { return v.checkInterfaces(ctx, w.Spec.Interfaces) },
		func() error { return v.checkImage(ctx, w.Spec.Deploy) },
	} {
		if err := check(); err != nil {
			return split(err)
		}
	}
	_, stranger, err := v.look(ctx, Ref{Key: w.Key, Name: w.Spec.Name})
	switch {
	case err == nil:
		return true, nil, nil
	case !errors.Is(err, ErrNotFound):
		return false, nil, err
	case stranger != nil:
		return false, taken(w.Spec.Name, *stranger, ""), nil
	}
	return false, nil, nil
}

// split tells a wish that cannot be met from a look that failed.
func split(failure error) (exists bool, finding, err error) {
	var spelled *SpecError
	if errors.As(failure, &spelled) {
		return false, failure, nil
	}
	return false, nil, failure
}

// checkRoom takes the VM's room in the fleet, or says why there is none.
func (v *vms) checkRoom(ctx context.Context, fleet *checkedFleet, w Wanted) (finding, err error) {
	var exclude []string
	if w.Spec.Host != "" {
		host, err := v.host(ctx, w.Spec.Host)
		if err == nil {
			err = host.usable()
		}
		if err != nil {
			_, finding, err := split(err)
			return finding, err
		}
		exclude = fleet.others(host)
	}
	need, err := v.placementNeed(ctx, w.Key, w.Spec, exclude)
	if err != nil {
		_, finding, err := split(err)
		return finding, err
	}
	_, err = fleet.room.Place(need)
	var misfit *placement.FitError
	if errors.As(err, &misfit) && w.Spec.Host != "" {
		return namedMisfit(w.Spec.Name, misfit, exclude), nil
	}
	return unplaced(w.Spec.Name, err), nil
}

// namedMisfit speaks of the one host that was named.
func namedMisfit(name string, misfit *placement.FitError, others []string) error {
	for _, m := range misfit.Misfits() {
		if slices.Contains(others, m.HostID) {
			continue
		}
		return &Error{
			Type: InsufficientResources, Host: m.HostName, Message: fmt.Sprintf("%s does not fit: %s: %s", name, m.Reason, m.Detail),
			Hint: "Choose another VM host, or make the VM smaller.",
		}
	}
	return unplaced(name, misfit)
}
