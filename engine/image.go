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

// linuxes are the systems of images on which hardware sync runs (maascommon/osystem,
// LINUX_OSYSTEMS, and images of a user's own).
var linuxes = []string{"ubuntu", "centos", "rhel", "ol", "custom"}

// CheckDeployment looks whether MAAS can deploy so, and has the image and the kernel. The
// error is a *SpecError if not.
func (c Config) CheckDeployment(ctx context.Context, d *Deployment) error {
	if d == nil || !d.Ephemeral && !d.HardwareSync {
		return c.CheckImage(ctx, d)
	}
	can, err := c.Catalog.Capabilities(ctx)
	if err != nil {
		return err
	}
	if err := d.checkVersion(can); err != nil {
		return err
	}
	return c.CheckImage(ctx, d)
}

// checkVersion refuses what this MAAS is too old for: one before 3.2 ignores the wish for
// hardware sync without a word, and one before 3.5 fails to run another system than Ubuntu
// from memory (models/node.py, start).
func (d *Deployment) checkVersion(can Capabilities) error {
	system, _, named := strings.Cut(d.Image, "/")
	switch {
	case d.HardwareSync && can.IsOlder(3, 2):
		return tooOldError("deploy.enable_hw_sync", can, "has no hardware sync, which came with MAAS 3.2")
	case d.HardwareSync && named && !slices.Contains(linuxes, system):
		return &SpecError{
			Field: "deploy.enable_hw_sync", Message: "MAAS has hardware sync for Linux only, and not for " + d.Image,
			Hint: "Leave it out, or name another image.", Err: ErrInvalid,
		}
	case d.Ephemeral && named && system != "ubuntu" && can.IsOlder(3, 5):
		return tooOldError("deploy.ephemeral", can, "runs Ubuntu alone from memory, and others from MAAS 3.5 on")
	}
	return nil
}

func tooOldError(field string, can Capabilities, why string) error {
	return &SpecError{Field: field, Message: fmt.Sprintf("MAAS %s %s", can.Version, why), Hint: "Leave it out, or upgrade MAAS.", Err: ErrInvalid}
}

// IsOlder tells whether MAAS is older than a version. One that nobody can read is not.
func (c Capabilities) IsOlder(major, minor int) bool {
	var has, hasMinor int
	if _, err := fmt.Sscanf(c.Version, "%d.%d", &has, &hasMinor); err != nil {
		return false
	}
	return has < major || has == major && hasMinor < minor
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
