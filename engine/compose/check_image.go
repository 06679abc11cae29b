package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// CheckImageForHost refuses an image that MAAS does not have for the VMs of the host. MAAS itself
// refuses it only when it deploys. Somebody may just have imported the image, so it looks twice.
func (f *Finder) CheckImageForHost(ctx context.Context, host engine.VMHost, d *engine.Deployment) error {
	architecture := host.VMArchitecture()
	if d == nil || architecture == "" {
		return nil
	}
	known, err := f.OtherArchitectures(ctx, architecture, d)
	if len(known) > 0 {
		f.Names.Refresh(engine.ListImages)
		known, err = f.OtherArchitectures(ctx, architecture, d)
	}
	if err != nil || len(known) == 0 {
		return err
	}
	return imageForOthersError(d, known, map[string][]string{placement.ShortArchitecture(architecture): {host.Name}})
}

// refreshImagesAfter drops the list of images if only the architectures of VM hosts may be in
// the way: somebody may just have imported the image for another one.
func (f *Finder) refreshImagesAfter(err error) {
	misfit, ok := errors.AsType[*placement.FitError](err)
	isArchitecture := func(r placement.Rejection) bool { return r.Reason == placement.WrongArchitecture }
	if ok && !misfit.IsTemporary() && slices.ContainsFunc(misfit.Rejections(), isArchitecture) {
		f.Names.Refresh(engine.ListImages)
	}
}

// imageFitError says that MAAS has the image for none of the VM hosts that the spec allows. It is
// nil if anything else is in the way.
func (f *Finder) imageFitError(ctx context.Context, want engine.VMSpec, err error) error {
	misfit, ok := errors.AsType[*placement.FitError](err)
	if !ok {
		return nil
	}
	hosts := map[string][]string{} // their names by architecture
	for _, r := range misfit.Rejections() {
		switch r.Reason {
		case placement.WrongArchitecture:
			hosts[r.Architecture] = append(hosts[r.Architecture], r.HostName)
		case placement.WrongType, placement.WrongZone, placement.WrongPool, placement.MissingTags: // the spec leaves it out
		default:
			return nil
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	known, err := engine.ImageArchitectures(ctx, f.Catalog, want.Deploy)
	if err != nil || len(known) == 0 {
		return err
	}
	refused := imageForOthersError(want.Deploy, known, hosts)
	refused.Message = "no VM host fits " + want.Name + ": " + refused.Message
	refused.Ways = []engine.Way{engine.WayMakeHostFirst}
	return refused
}

// imageForOthersError says that MAAS has the image for other architectures than those of the VM
// hosts. hosts has the names of the VM hosts by architecture.
func imageForOthersError(d *engine.Deployment, known []string, hosts map[string][]string) *engine.SpecError {
	own := slices.Sorted(maps.Keys(hosts))
	said := make([]string, len(own))
	for n, architecture := range own {
		noun, verb := "VM host", "is"
		if len(hosts[architecture]) > 1 {
			noun, verb = "VM hosts", "are"
		}
		said[n] = fmt.Sprintf("%s %s %s %s", noun, engine.JoinNames(hosts[architecture]), verb, architecture)
	}
	image, missing, others := d.ImageText(), strings.Join(own, " or "), strings.Join(known, ", ")
	return &engine.SpecError{
		Field: fieldpath.New("deploy", "image"), Message: fmt.Sprintf("%s; MAAS has %s for %s only", strings.Join(said, ", "), image, others),
		Hint: fmt.Sprintf("Import %s for %s in MAAS, name an image that MAAS has for %s, or use a VM host that is %s.", image, missing, missing, strings.Join(known, " or ")),
		Err:  engine.ErrConflict,
	}
}
