package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// namedSite is the one host that the spec names.
func (v *vms) namedSite(ctx context.Context, want VMSpec) (sites, error) {
	host, err := v.host(ctx, want.Host)
	if err != nil {
		return sites{}, err
	}
	if err := host.suits(want.Placement); err != nil {
		v.Names.Refresh(ListHosts)
		return sites{}, err
	}
	if host, err = v.restoreNamed(ctx, host); err != nil {
		return sites{}, err
	}
	if err := host.usable(); err != nil {
		v.Names.Refresh(ListHosts)
		return sites{}, err
	}
	if _, err := v.inProject(ctx, []VMHost{host}, want.Placement.Project); err != nil {
		return sites{}, err
	}
	// A VM host that was just registered shows no cores until its inventory
	// has come, a second or two later.
	if !host.reached() {
		v.Names.Refresh(ListHosts)
		return sites{}, fmt.Errorf("nothing tells yet how many cores VM host %s has: %w", host.Name, ErrBusy)
	}
	if host, err = v.fits(ctx, host, want); err != nil {
		return sites{}, err
	}
	return sites{hosts: []VMHost{host}, candidates: []Candidate{host.candidate()}}, nil
}

// suits says why a host that is named is none that will do: by a *SpecError of
// vm_host for its zone, its pool and its tags each. The VM would be made there,
// whatever was asked for beside the name, and whoever asked would think that it is
// elsewhere.
func (h VMHost) suits(want Placement) error {
	var errs []error
	refuse := func(is, wanted, other string) {
		errs = append(errs, &SpecError{
			Field: "vm_host", Message: fmt.Sprintf("VM host %s %s, and %s is wanted", h.Name, is, wanted),
			Hint: fmt.Sprintf("Name a VM host %s, or none: then one is chosen.", other),
		})
	}
	if want.Zone != "" && h.Zone != want.Zone {
		refuse("is in zone "+h.Zone, "zone "+want.Zone, "of that zone")
	}
	if want.Pool != "" && h.Pool != want.Pool {
		refuse("is in resource pool "+h.Pool, "resource pool "+want.Pool, "of that pool")
	}
	missing := slices.DeleteFunc(slices.Clone(want.Tags), func(tag string) bool { return slices.Contains(h.Tags, tag) })
	if len(missing) > 0 {
		refuse("does not carry all tags", strings.Join(missing, ", "), "that carries them")
	}
	return errors.Join(errs...)
}

// answersTo tells whether a spec names the host so: by its name, its id, or the
// system id of its machine.
func (h VMHost) answersTo(name string) bool {
	return h.Name == name || h.MachineID == name || h.ID != 0 && fmt.Sprint(h.ID) == name
}
