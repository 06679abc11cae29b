package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Validate refuses user-data that is too long, by a *SpecError. Nil is valid.
func (d *Deployment) Validate() error {
	if d == nil || len(d.UserData) <= MaxUserDataBytes {
		return nil
	}
	return &SpecError{
		Field:   "deploy.user_data",
		Message: fmt.Sprintf("%d bytes are more than the %d that reach MAAS safely", len(d.UserData), MaxUserDataBytes),
		Hint:    "Let a short user-data fetch the rest.",
	}
}

// CheckImage looks whether MAAS has the image and the kernel. The error is a *SpecError if it
// has not. No image and no kernel is no error.
func (c Config) CheckImage(ctx context.Context, d *Deployment) error {
	if d == nil || d.Image == "" && d.Kernel == "" {
		return nil
	}
	if d.Image == "" { // MAAS would take any word for a kernel of its default
		series, err := c.Catalog.DefaultImage(ctx)
		if err != nil {
			return fmt.Errorf("cannot tell MAAS's default image, which the kernel %s is for: %w", d.Kernel, err)
		}
		of := *d
		of.Image, d = series, &of
	}
	found, images, err := FindInList(ctx, c.Names, ListImages, c.Catalog.Images, d.installs)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return UnknownNameError("deploy.image", "image", d.Image, imageNames(images))
	}
	return d.checkKernel(found)
}

// installs tells whether the deployment installs the image. One of a user's own
// goes by its name alone, too.
func (d *Deployment) installs(have Image) bool { return have.AnswersTo(d.Image) }

// AnswersTo tells whether the image is called so: "ubuntu/noble", or "noble" alone.
func (i Image) AnswersTo(name string) bool {
	return i.Name == name || strings.HasSuffix(i.Name, "/"+name)
}

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
	return UnknownNameError("deploy.kernel", "kernel for "+d.Image, d.Kernel, slices.Compact(known))
}

// ImageText is how messages call the image.
func (d *Deployment) ImageText() string { return cmp.Or(d.Image, "an image") }

func imageNames(images []Image) []string {
	names := make([]string, len(images))
	for n, i := range images {
		names[n] = i.Name
	}
	return names
}

// ImageArchitectures are those that MAAS has the image for, sorted; where none is
// named, any image.
func ImageArchitectures(images []Image, d *Deployment) []string {
	var known []string
	for _, i := range images {
		if d.Image == "" || d.installs(i) {
			known = append(known, i.Architectures...)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}
