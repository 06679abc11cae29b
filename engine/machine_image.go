package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// installs tells whether the deployment installs the image. One of a user's own
// goes by its name alone, too.
func (d *Deployment) installs(have Image) bool {
	return have.Name == d.Image || strings.HasSuffix(have.Name, "/"+d.Image)
}

func imageNames(images []Image) []string {
	names := make([]string, len(images))
	for n, i := range images {
		names[n] = i.Name
	}
	return names
}

// architectures are those that MAAS has the image for, sorted; where none is
// named, any image.
func architectures(images []Image, d *Deployment) []string {
	var known []string
	for _, i := range images {
		if d.Image == "" || d.installs(i) {
			known = append(known, i.Architectures...)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// name is how messages call the image.
func (d *Deployment) name() string { return cmp.Or(d.Image, "an image") }

// checkKernel refuses a kernel that MAAS does not have for the image. MAAS itself
// says so only when it deploys. Images of a user's own run on the kernels of others.
func (d *Deployment) checkKernel(images []Image) error {
	var known []string
	for _, i := range images {
		if strings.HasPrefix(i.Name, "custom/") {
			return nil
		}
		known = append(known, i.Kernels...)
	}
	if d.Kernel == "" || len(known) == 0 || slices.Contains(known, d.Kernel) {
		return nil
	}
	slices.Sort(known)
	return unknown("deploy.kernel", "kernel for "+d.Image, d.Kernel, slices.Compact(known))
}

// imaged refuses a machine for whose architecture MAAS does not have the image;
// where none is named, any image. MAAS itself says so only when it deploys.
func (b *metal) imaged(ctx context.Context, m Machine, want MachineSpec) error {
	if want.Deploy == nil {
		return nil
	}
	all, err := b.Catalog.Images(ctx)
	if err != nil {
		return err
	}
	short, _, _ := strings.Cut(m.Architecture, "/")
	known := architectures(all, want.Deploy)
	if len(known) == 0 || slices.Contains(known, short) {
		return nil // none is known: MAAS has the last word
	}
	return &SpecError{
		Field:   want.field(),
		Message: fmt.Sprintf("machine %s is of the architecture %s, and MAAS has %s for %s only", m.Hostname, m.Architecture, want.Deploy.name(), strings.Join(known, ", ")),
		Hint:    fmt.Sprintf("Choose another machine, name an image in deploy.image that MAAS has for %s, or import this one for it in MAAS.", short),
		Err:     ErrConflict,
	}
}

// field names the part of the spec that chose the machine.
func (s MachineSpec) field() string {
	if s.Machine == "" {
		return "selector"
	}
	return "machine"
}
