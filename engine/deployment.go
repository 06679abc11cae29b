package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// Deployment says what to install.
type Deployment struct {
	Image     string // "ubuntu/noble" or a name as in MAAS's boot resources; empty: MAAS's default
	Kernel    string // hwe_kernel; empty: MAAS's default
	UserData  []byte // plain, not base64
	Ephemeral bool   // run from memory
	// HardwareSync lets an agent on the machine report hardware changes to MAAS.
	HardwareSync bool
	// NoSwap keeps MAAS from making swap, with which kubelets refuse to start. MAAS does so for
	// Ubuntu only: a custom image decides itself.
	NoSwap bool
	// Storage is the layout that MAAS gives the disks of bare metal first. Nil: the disks keep
	// their layout. MAAS keeps the layout after a release.
	Storage *StorageLayout
}

// MustDisableSwap tells whether the machine would get swap that the deployment must not have.
func (d *Deployment) MustDisableSwap(m Machine) bool {
	return d != nil && d.NoSwap && (m.SwapBytes == nil || *m.SwapBytes != 0)
}

// Validate refuses user-data that is too long and an impossible storage layout, by *SpecErrors.
// Nil is valid.
func (d *Deployment) Validate() error {
	if d == nil {
		return nil
	}
	if len(d.UserData) > MaxUserDataBytes {
		return &SpecError{
			Field:   fieldpath.New("deploy", "user_data"),
			Message: fmt.Sprintf("%d bytes are more than the %d that reach MAAS safely", len(d.UserData), MaxUserDataBytes),
			Hint:    "Let a short user-data fetch the rest.",
		}
	}
	return d.ValidateStorage()
}

// ValidateStorage refuses an impossible storage layout, by a *SpecError.
func (d *Deployment) ValidateStorage() error {
	if d.Storage != nil && d.Ephemeral {
		return &SpecError{
			Field: storageField, Message: "a machine that runs from memory does not use its disks",
			Hint: "Leave out deploy.storage_layout or deploy.ephemeral.",
		}
	}
	return d.Storage.validate()
}

// linuxSystems are the systems of images that can run hardware sync (maascommon/osystem,
// LINUX_OSYSTEMS, and custom images).
var linuxSystems = []string{"ubuntu", "centos", "rhel", "ol", "custom"}

// CheckDeployment checks that MAAS supports the deployment, and has the image and the kernel.
// If not, the error is a *SpecError.
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

// checkVersion refuses a deployment for which this MAAS is too old. A MAAS before 3.2 silently
// ignores hardware sync. One before 3.5 cannot run a system other than Ubuntu from memory
// (models/node.py, start).
func (d *Deployment) checkVersion(can Capabilities) error {
	system, _, named := strings.Cut(d.Image, "/")
	switch {
	case d.HardwareSync && can.IsOlder(3, 2):
		return tooOldError(fieldpath.New("deploy", "enable_hw_sync"), can, "has no hardware sync, which came with MAAS 3.2")
	case d.HardwareSync && named && !slices.Contains(linuxSystems, system):
		return &SpecError{
			Field: fieldpath.New("deploy", "enable_hw_sync"), Message: "MAAS has hardware sync for Linux only, and not for " + d.Image,
			Hint: "Leave it out, or name another image.", Err: ErrInvalid,
		}
	case d.Ephemeral && named && system != "ubuntu" && can.IsOlder(3, 5):
		return tooOldError(fieldpath.New("deploy", "ephemeral"), can, "runs only Ubuntu from memory; other systems need MAAS 3.5")
	}
	return nil
}

func tooOldError(field fieldpath.Path, can Capabilities, why string) error {
	return &SpecError{Field: field, Message: fmt.Sprintf("MAAS %s %s", can.Version, why), Hint: "Leave it out, or upgrade MAAS.", Err: ErrInvalid}
}

// IsOlder tells whether MAAS is older than a version. An unreadable version is not older.
func (c Capabilities) IsOlder(major, minor int) bool {
	var has, hasMinor int
	if _, err := fmt.Sscanf(c.Version, "%d.%d", &has, &hasMinor); err != nil {
		return false
	}
	return has < major || has == major && hasMinor < minor
}

// CheckImage checks that MAAS has the image and the kernel. If not, the error is a *SpecError.
// No image and no kernel is no error.
func (c Config) CheckImage(ctx context.Context, d *Deployment) error {
	if d == nil || d.Image == "" && d.Kernel == "" {
		return nil
	}
	if d.Image == "" { // for its default image, MAAS would accept any kernel name
		series, err := c.Catalog.DefaultImage(ctx)
		if err != nil {
			return fmt.Errorf("cannot read MAAS's default image, to check the kernel %s: %w", d.Kernel, err)
		}
		of := *d
		of.Image, d = series, &of
	}
	found, images, err := FindInList(ctx, c.Names, ListImages, c.Catalog.Images, d.matchesImage)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return UnknownNameError(fieldpath.New("deploy", "image"), "image", d.Image, imageNames(images))
	}
	return d.checkKernel(found)
}

// matchesImage tells whether the deployment installs the image. A custom image also matches by
// its name alone.
func (d *Deployment) matchesImage(have Image) bool { return have.MatchesName(d.Image) }

// MatchesName tells whether the image has this name: "ubuntu/noble", or "noble" alone.
func (i Image) MatchesName(name string) bool {
	return i.Name == name || strings.HasSuffix(i.Name, "/"+name)
}

// checkKernel refuses a kernel that MAAS does not have for the image. MAAS itself refuses it
// only when it deploys. Custom images use the kernels of other images.
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
	return UnknownNameError(fieldpath.New("deploy", "kernel"), "kernel for "+d.Image, d.Kernel, slices.Compact(known))
}

// ImageText names the image in messages. It is empty if nothing is installed.
func (d *Deployment) ImageText() string {
	if d == nil {
		return ""
	}
	return cmp.Or(d.Image, "an image")
}

func imageNames(images []Image) []string {
	names := make([]string, len(images))
	for n, i := range images {
		names[n] = i.Name
	}
	return names
}

// OtherArchitectures lists the architectures that MAAS has the image for, if it lacks the image
// for this one, such as "amd64/generic". The list is empty if MAAS has the image, and if only
// MAAS can tell.
func (c Config) OtherArchitectures(ctx context.Context, architecture string, d *Deployment) ([]string, error) {
	known, err := ImageArchitectures(ctx, c.Catalog, d)
	if err != nil || slices.Contains(known, placement.ShortArchitecture(architecture)) {
		return nil, err
	}
	return known, nil
}

// ImageArchitectures lists the architectures that MAAS has the image for, such as "amd64",
// sorted. The list is empty if nothing is installed, and if only MAAS can tell.
func ImageArchitectures(ctx context.Context, catalog Catalog, d *Deployment) ([]string, error) {
	if d == nil {
		return nil, nil
	}
	images, err := catalog.Images(ctx)
	if err != nil {
		return nil, err
	}
	if d.Image != "" {
		return imageArchitectures(images, d.matchesImage), nil
	}
	known := imageArchitectures(images, func(Image) bool { return true })
	if len(known) < 2 {
		return known, nil // it does not matter which of them is MAAS's default
	}
	series, err := catalog.DefaultImage(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read MAAS's default image, to find its architectures: %w", err)
	}
	if own := imageArchitectures(images, func(i Image) bool { return i.MatchesName(series) }); len(own) > 0 {
		return own, nil
	}
	return known, nil
}

// imageArchitectures lists the architectures of the matching images, sorted. It lists none if
// those of one of them are not all known.
func imageArchitectures(images []Image, matches func(Image) bool) []string {
	var known []string
	for _, i := range images {
		switch {
		case !matches(i):
		case i.MoreArchitectures:
			return nil
		default:
			known = append(known, i.Architectures...)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// storageField is the path of the storage layout in a spec.
var storageField = fieldpath.New("deploy", "storage_layout")

// StorageLayout says how MAAS lays out the disks of a machine (storage_layouts.py).
type StorageLayout struct {
	Type string // one of StorageLayouts
	// RootDisk is MAAS's name of the disk for the root file system. Empty: the disk that the
	// machine boots from.
	RootDisk string
	// RootSizeGB is the size of the root file system's partition. With "lvm" it is the size of
	// the volume group, with "bcache" that of the backing device. Decimal; zero: all of the
	// disk.
	RootSizeGB int64
	// VolumeSizeGB is the size of the logical volume of "lvm"; zero: all of the volume group.
	VolumeSizeGB int64
	// CacheMode is the mode of "bcache"; empty: "writethrough". The cache is the smallest other
	// disk with the tag ssd: MAAS takes that one and ignores cache_device.
	CacheMode string
}

// StorageLayouts are the layouts that a system can be installed on. "blank" is none of them.
var StorageLayouts = []string{"bcache", "custom", "flat", "lvm", "vmfs6", "vmfs7"}

// CacheModes are the modes of bcache.
var CacheModes = []string{"writeback", "writethrough", "writearound"}

// Disk finds the machine's disk by name.
func (m Machine) Disk(name string) (MachineDisk, bool) {
	at := slices.IndexFunc(m.Disks, func(d MachineDisk) bool { return d.Name == name })
	if at < 0 {
		return MachineDisk{}, false
	}
	return m.Disks[at], true
}

// validate refuses values that MAAS would ignore or refuse, by a *SpecError. Nil is valid.
func (l *StorageLayout) validate() error {
	if l == nil {
		return nil
	}
	partitioned := slices.Contains([]string{"bcache", "flat", "lvm"}, l.Type)
	for _, c := range []struct {
		wrong             bool
		at, message, hint string
	}{
		{!slices.Contains(StorageLayouts, l.Type), "type", fmt.Sprintf("%q is not a storage layout", l.Type), "Use one of " + strings.Join(StorageLayouts, ", ") + "."},
		{l.RootDisk != "" && !partitioned, "root_disk", "the layout " + l.Type + " chooses the disks itself", "Leave it out."},
		{l.RootSizeGB > 0 && !partitioned, "root_size_gb", "the layout " + l.Type + " chooses the sizes itself", "Leave it out."},
		{l.VolumeSizeGB > 0 && l.Type != "lvm", "volume_size_gb", "the layout " + l.Type + " has no logical volume", `Leave it out, or use the type "lvm".`},
		{l.CacheMode != "" && l.Type != "bcache", "cache_mode", "the layout " + l.Type + " has no cache", `Leave it out, or use the type "bcache".`},
		{l.CacheMode != "" && !slices.Contains(CacheModes, l.CacheMode), "cache_mode", fmt.Sprintf("%q is not a bcache mode", l.CacheMode), "Use one of " + strings.Join(CacheModes, ", ") + "."},
		{l.RootSizeGB > 0 && l.VolumeSizeGB > l.RootSizeGB, "volume_size_gb", "the logical volume is larger than its volume group", "Raise root_size_gb, or leave it out."},
	} {
		if c.wrong {
			return &SpecError{Field: storageField.Child(c.at), Message: c.message, Hint: c.hint}
		}
	}
	return nil
}

// CheckDisks refuses a machine that lacks the disks, or has too small ones, by a *SpecError. MAAS
// itself refuses the layout only when the machine is Ready. Nil accepts every machine.
func (l *StorageLayout) CheckDisks(m Machine) error {
	if l == nil {
		return nil
	}
	boot := m.bootDisk()
	root, ok := m.Disk(l.RootDisk)
	switch {
	case ok:
	case l.RootDisk == "":
		root = boot
	default:
		var has []string
		for _, d := range m.Disks {
			has = append(has, d.Name)
		}
		return UnknownNameError(storageField.Child("root_disk"), "disk of machine "+m.Hostname, l.RootDisk, has)
	}
	if need := max(l.RootSizeGB, l.VolumeSizeGB); ok && root.SizeGB < need {
		return &SpecError{
			Field: storageField.Child("root_disk"), Message: fmt.Sprintf("the disk %s of machine %s has %d GB, but the layout needs %d GB", root.Name, m.Hostname, root.SizeGB, need),
			Hint: "Name a larger disk, or smaller sizes.", Err: ErrInvalid,
		}
	}
	return cmp.Or(l.checkBootDisk(m, boot), l.checkCacheDisk(m, boot, root))
}

// bootDisk is the disk that the machine boots from; the zero value: it is unknown.
func (m Machine) bootDisk() MachineDisk {
	at := slices.IndexFunc(m.Disks, func(d MachineDisk) bool { return m.BootDisk != 0 && d.ID == m.BootDisk })
	if at < 0 {
		return MachineDisk{}
	}
	return m.Disks[at]
}

// bytes is the size of the disk, as exact as it is known.
func (d MachineDisk) bytes() int64 { return cmp.Or(d.Bytes, d.SizeGB*bytesPerGB) }

// Sizes in bytes. MAAS keeps bootPartitionBytes free on the boot disk for each of two partitions:
// of EFI, and of the kernel (storage_layouts.py, EFI_PARTITION_SIZE, MIN_BOOT_PARTITION_SIZE).
const (
	bytesPerGB         = 1_000_000_000
	bootPartitionBytes = 512 << 20
)

// leastVMwareBytes are the least sizes of the boot disk for ESXi (storage_layouts.py).
var leastVMwareBytes = map[string]int64{"vmfs6": 10 << 30, "vmfs7": 32 << 30}

// checkBootDisk refuses sizes that do not fit on the boot disk. MAAS compares them with that disk,
// whichever disk the root file system is on.
func (l *StorageLayout) checkBootDisk(m Machine, boot MachineDisk) error {
	if boot.bytes() == 0 {
		return nil
	}
	refuse := func(attribute, what string, mostBytes int64) error {
		return &SpecError{
			Field:   storageField.Child(attribute),
			Message: fmt.Sprintf("%s, because machine %s boots from the disk %s of %d GB", what, m.Hostname, boot.Name, boot.SizeGB),
			Hint:    fmt.Sprintf("Give at most %d.", max(0, mostBytes/bytesPerGB)), Err: ErrInvalid,
		}
	}
	mostRoot, mostVolume := boot.bytes()-2*bootPartitionBytes, boot.bytes()-bootPartitionBytes
	switch {
	case l.RootSizeGB*bytesPerGB > mostRoot:
		return refuse("root_size_gb", fmt.Sprintf("MAAS refuses %d GB", l.RootSizeGB), mostRoot)
	case l.RootSizeGB == 0 && l.VolumeSizeGB*bytesPerGB > mostVolume:
		return refuse("volume_size_gb", fmt.Sprintf("MAAS refuses %d GB", l.VolumeSizeGB), mostVolume)
	case boot.bytes() < leastVMwareBytes[l.Type]:
		return &SpecError{
			Field: storageField.Child("type"), Message: fmt.Sprintf("the layout %s needs %d GiB, but machine %s boots from the disk %s of %d GB", l.Type, leastVMwareBytes[l.Type]>>30, m.Hostname, boot.Name, boot.SizeGB),
			Hint: "Choose another machine, or let it boot from another disk in MAAS.", Err: ErrInvalid,
		}
	}
	return nil
}

// checkCacheDisk refuses bcache if MAAS finds no disk for the cache, or the one of the root file
// system. It takes the smallest SSD other than the boot disk (storage_layouts.py).
func (l *StorageLayout) checkCacheDisk(m Machine, boot, root MachineDisk) error {
	if l.Type != "bcache" || boot.ID == 0 {
		return nil
	}
	var cache MachineDisk
	for _, d := range m.Disks {
		if d.ID != boot.ID && slices.Contains(d.Tags, "ssd") && (cache.ID == 0 || d.bytes() < cache.bytes()) {
			cache = d
		}
	}
	switch {
	case cache.ID == 0:
		return &SpecError{
			Field:   storageField.Child("type"),
			Message: fmt.Sprintf("machine %s has no disk for the cache: MAAS needs one with the tag ssd, besides the disk %s from which it boots", m.Hostname, boot.Name),
			Hint:    "Give another disk of the machine the tag ssd in MAAS, or use another layout.", Err: ErrInvalid,
		}
	case cache.ID == root.ID:
		return &SpecError{
			Field: storageField.Child("root_disk"), Message: fmt.Sprintf("MAAS takes the disk %s of machine %s for the cache: it is the smallest with the tag ssd", cache.Name, m.Hostname),
			Hint: "Name another disk for the root file system.", Err: ErrInvalid,
		}
	}
	return nil
}

// AsSpecErrors turns MAAS's errors about its parameters into errors about the layout's fields.
func (l *StorageLayout) AsSpecErrors(err error) error {
	return AsSpecErrorsBy(err, map[string]fieldpath.Path{
		"storage_layout": storageField.Child("type"), "root_device": storageField.Child("root_disk"), "root_size": storageField.Child("root_size_gb"), "boot_size": storageField,
		"lv_size": storageField.Child("volume_size_gb"), "cache_mode": storageField.Child("cache_mode"), "__all__": storageField,
	})
}
