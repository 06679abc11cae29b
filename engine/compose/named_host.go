package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/region"
)

// siteOfNamedHost is the one host that the spec names.
func (f *Finder) siteOfNamedHost(ctx context.Context, want engine.VMSpec) (Sites, error) {
	host, err := f.FindHost(ctx, want.Host)
	if err != nil {
		return Sites{}, err
	}
	if err := CheckPlacement(host, want.Placement); err != nil {
		f.Names.Refresh(engine.ListHosts)
		return Sites{}, err
	}
	if host, err = f.restoreNamedHost(ctx, host); err != nil {
		return Sites{}, err
	}
	if err := host.UsableError(); err != nil {
		f.Names.Refresh(engine.ListHosts)
		return Sites{}, err
	}
	if _, err := f.FindHostProjects(ctx, []engine.VMHost{host}, want.Placement.Project); err != nil {
		return Sites{}, err
	}
	// A VM host that was just registered shows no cores until its inventory arrives, a second
	// or two later.
	if !host.IsInventoryKnown() {
		f.Names.Refresh(engine.ListHosts)
		return Sites{}, fmt.Errorf("MAAS does not know the cores of VM host %s yet: %w", host.Name, engine.ErrBusy)
	}
	if err := f.CheckImageForHost(ctx, host, want.Deploy); err != nil {
		return Sites{}, err
	}
	if err := f.CheckNetworks(ctx, host, want.Interfaces); err != nil {
		return Sites{}, err
	}
	if host, err = f.checkHostWithRefresh(ctx, host, want); err != nil {
		return Sites{}, err
	}
	return Sites{hosts: []engine.VMHost{host}, candidates: []engine.Candidate{hostCandidate(host)}}, nil
}

// CheckPlacement says why a named host does not match the placement. There is a *SpecError of
// vm_host for each of its zone, its pool and its tags. Without this check the VM would be made
// on the named host, against the rest of the placement, and nobody would notice.
func CheckPlacement(h engine.VMHost, want engine.Placement) error {
	var errs []error
	refuse := func(is, wanted, other string) {
		errs = append(errs, &engine.SpecError{
			Field: fieldpath.New("vm_host"), Message: fmt.Sprintf("VM host %s %s, but %s is wanted", h.Name, is, wanted),
			Hint: fmt.Sprintf("Name a VM host %s, or none to have one chosen.", other),
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

// restoreNamedHost restores a VM host that a spec names and that lost its machine. Others are
// left alone: nobody knows whose they are, and MAAS adopts the VMs that it finds there.
func (f *Finder) restoreNamedHost(ctx context.Context, host engine.VMHost) (engine.VMHost, error) {
	if !host.HasLostMachine() || !f.restoring.BeginIfDue("machine of "+host.SpecID(), region.RestoreInterval, f.Now()) {
		return host, nil
	}
	if err := f.region.RestoreMachine(ctx, f.Config, host); err != nil {
		return host, err
	}
	return f.FindHost(ctx, host.SpecID())
}
