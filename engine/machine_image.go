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
	var known []string
	for _, i := range all {
		if want.Deploy.Image == "" || want.Deploy.installs(i) {
			known = append(known, i.Architectures...)
		}
	}
	if len(known) == 0 || slices.Contains(known, short) {
		return nil // none is known: MAAS has the last word
	}
	slices.Sort(known)
	image := cmp.Or(want.Deploy.Image, "an image")
	return &SpecError{
		Field:   want.field(),
		Message: fmt.Sprintf("machine %s is of the architecture %s, and MAAS has %s for %s only", m.Hostname, m.Architecture, image, strings.Join(slices.Compact(known), ", ")),
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
