package disks

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// layoutRoutes are the operations on a machine's whole storage (api/machines.py).
var layoutRoutes = []request.Route{
	{Method: http.MethodPost, Path: "machines/{id}/", Op: "set_storage_layout", Handle: request.OnMachine(request.Admin, setLayout)},
	{Method: http.MethodPost, Path: "machines/{id}/", Op: "mount_special", Handle: request.OnMachine(request.Edit, mountSpecial)},
	{Method: http.MethodPost, Path: "machines/{id}/", Op: "unmount_special", Handle: request.OnMachine(request.Edit, unmountSpecial)},
}

// Sizes of layouts (storage_layouts.py).
const (
	efiBytes     = 512 << 20
	minBootBytes = 512 << 20
	minRootBytes = 3 << 30
)

// minVMwareDisks are the least sizes of the boot disk for VMware's images.
var minVMwareDisks = map[string]struct {
	bytes int64
	words string
}{"vmfs6": {10 << 30, "Boot disk must be at least 10Gb."}, "vmfs7": {32 << 30, "Boot disk must be at least 32Gb."}}

// setLayout replaces everything on the disks by a layout.
func setLayout(c *request.Call, m *world.Machine) rest.Reply {
	layout := c.Field("storage_layout")
	switch {
	case m.Status != world.StatusReady:
		return rest.ConflictReply("Cannot change the storage layout on a machine that is not Ready.")
	case layout == "":
		return rest.BadFieldReply("storage_layout", rest.MsgRequired)
	case !slices.Contains(storage.Layouts, layout):
		return rest.BadFieldReply("storage_layout", invalidChoiceText("storage_layout", layout, storage.Layouts))
	}
	boot := m.Storage.EffectiveBootDisk()
	if boot == nil {
		return rest.BadTextReply("Machine is missing a boot disk; no storage layout can be applied.")
	}
	f := newForm(c)
	options := f.readLayout(layout, &m.Storage, boot)
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return countMachine(changeStorage(m, func() (any, *storage.Problem) {
		sentence, bad := storage.ApplyLayout(&m.Storage, layout, options)
		if sentence != "" {
			bad = &storage.Problem{Text: fmt.Sprintf("Failed to configure storage layout '%s': %s", layout, sentence)}
		}
		if bad != nil {
			return nil, bad
		}
		return view.Machine(m), nil
	}))
}

// countMachine counts one machine object in the answer.
func countMachine(rep rest.Reply) rest.Reply {
	if rep.Status == http.StatusOK {
		rep.MachineObjects = 1
	}
	return rep
}

// invalidChoiceText is MAAS's message about a text that is not one of the choices
// (utils/forms.py, compose_invalid_choice_text).
func invalidChoiceText(field, value string, choices []string) string {
	return fmt.Sprintf("'%s' is not a valid %s.  It should be one of: '%s'.", value, field, strings.Join(choices, "', '"))
}

// readLayout reads the options of a layout and checks them against the boot disk.
func (f form) readLayout(name string, s *storage.Storage, boot *storage.Disk) storage.LayoutOptions {
	o := storage.DefaultOptions()
	o.Fallback = false
	efi := int64(efiBytes)
	o.BootSize = f.readPartSize("boot_size", boot.SizeBytes-efi, minBootBytes, boot.SizeBytes-efi-minRootBytes)
	o.RootSize = f.readPartSize("root_size", boot.SizeBytes-efi, minRootBytes, boot.SizeBytes-efi-minBootBytes)
	o.Root = f.readRootDevice(s)
	switch {
	case o.RootSize > 0 && efi+o.BootSize+o.RootSize > boot.SizeBytes:
		f.errs.Add("__all__", "Size of the boot partition and root partition are larger than the available space on the boot disk.")
	case name == "lvm":
		f.readVolumeOptions(&o, boot)
	case name == "bcache":
		f.readCacheOptions(&o, s)
	case boot.SizeBytes < minVMwareDisks[name].bytes:
		f.errs["boot_size"] = []string{minVMwareDisks[name].words}
	}
	return o
}

func (f form) readRootDevice(s *storage.Storage) *storage.Disk {
	value := f.Field("root_device")
	if value == "" {
		return nil
	}
	var ids []string
	for _, d := range s.Disks {
		if strconv.Itoa(d.ID) == value {
			return d
		}
		ids = append(ids, strconv.Itoa(d.ID))
	}
	f.errs.Add("root_device", invalidChoiceText("root_device", value, ids))
	return nil
}

var percentage = regexp.MustCompile(`^\d+(\.\d*)?%$`)

// readShare reads a size, or a percentage of the whole (fields_storage.py). It returns
// false if the text is neither or missing.
func (f form) readShare(field string, whole int64) (int64, bool) {
	text := strings.TrimSpace(f.Field(field))
	if text == "" {
		return 0, false
	}
	if percentage.MatchString(text) {
		n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		return int64(math.Ceil(float64(whole) * (n / 100))), err == nil
	}
	n, isSize := sizeOf(text)
	if !isSize {
		f.errs.Add(field, rest.MsgInvalid)
	}
	return n, isSize
}

// readPartSize reads the size of a part of a disk, within bounds.
func (f form) readPartSize(field string, whole, least, most int64) int64 {
	size, given := f.readShare(field, whole)
	if given {
		f.checkPartSize(field, size, least, most)
	}
	if len(f.errs[field]) > 0 {
		return 0
	}
	return size
}

func (f form) checkPartSize(field string, size, least, most int64) {
	if size < least {
		f.errs.Add(field, fmt.Sprintf("Size is too small. Minimum size is %d.", least))
	}
	if size > most {
		f.errs[field] = []string{fmt.Sprintf("Size is too large. Maximum size is %d.", most)}
	}
}

// readVolumeOptions reads the options of the LVM layout.
func (f form) readVolumeOptions(o *storage.LayoutOptions, boot *storage.Disk) {
	for field, name := range map[string]*string{"vg_name": &o.VolumeGroup, "lv_name": &o.Volume} {
		if text := f.readText(field, false); text != "" {
			*name = text
		}
	}
	root := o.RootSize
	if root == 0 {
		root = boot.SizeBytes - efiBytes - o.BootSize
	}
	if size, given := f.readShare("lv_size", root); given {
		f.checkPartSize("lv_size", size, minRootBytes, root)
		o.VolumeSize = size
	}
}

// readCacheOptions reads the options of the bcache layout. MAAS validates the requested
// cache device, but then uses its own default.
func (f form) readCacheOptions(o *storage.LayoutOptions, s *storage.Storage) {
	if mode := f.readChoice("cache_mode", false, storage.CacheModes...); mode != "" {
		o.CacheMode = mode
	}
	o.CacheWhole = f.readCheckbox("cache_no_part")
	if value := f.Field("cache_device"); value != "" {
		var ids []string
		for _, d := range s.Disks {
			if d != s.EffectiveBootDisk() {
				ids = append(ids, strconv.Itoa(d.ID))
			}
		}
		if !slices.Contains(ids, value) {
			f.errs.Add("cache_device", invalidChoiceText("cache_device", value, ids))
		}
	}
	device, whole := storage.ChooseCacheDisk(s), int64(0)
	if device != nil {
		whole = device.SizeBytes
	}
	size, given := f.readShare("cache_size", whole)
	switch {
	case given && o.CacheWhole:
		for _, field := range []string{"cache_size", "cache_no_part"} {
			f.errs[field] = []string{"Cannot use cache_size and cache_no_part at the same time."}
		}
	case given && device != nil:
		f.checkPartSize("cache_size", size, storage.MinDiskBytes, whole)
		o.CacheSize = size
	}
}

// disklessFilesystems are the file systems that need no disk (forms/filesystem.py).
var disklessFilesystems = []string{"ramfs", "tmpfs"}

// mountSpecial mounts a file system that needs no disk.
func mountSpecial(c *request.Call, m *world.Machine) rest.Reply {
	if !world.IsStatusIn(m.Status, world.StatusReady, world.StatusAllocated) {
		return rest.ConflictReply("Cannot mount the filesystem because the machine is not Ready or Allocated.")
	}
	f := newForm(c)
	at, options := f.readPath("mount_point", true), f.readText("mount_options", false)
	fs := &storage.Filesystem{Fstype: f.readChoice("fstype", true, disklessFilesystems...), Mount: &at, Options: &options, Acquired: m.Owner != nil}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return countMachine(changeStorage(m, func() (any, *storage.Problem) {
		if bad := m.Storage.WriteFilesystem(nil, fs); bad != nil {
			return nil, bad
		}
		return view.Machine(m), nil
	}))
}

func unmountSpecial(c *request.Call, m *world.Machine) rest.Reply {
	if !world.IsStatusIn(m.Status, world.StatusReady, world.StatusAllocated) {
		return rest.ConflictReply("Cannot unmount the filesystem because the machine is not Ready or Allocated.")
	}
	f := newForm(c)
	at := f.readPath("mount_point", true)
	var mounted []*storage.Filesystem
	for _, fs := range m.Storage.Special {
		if *fs.Mount == at {
			mounted = append(mounted, fs)
		}
	}
	if len(f.errs) == 0 && len(mounted) == 0 {
		f.errs.Add("mount_point", "No special filesystem is mounted at this path.")
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	if len(mounted) > 1 { // an acquired machine has a copy beside the original
		return rest.InternalErrorReply(fmt.Sprintf("get() returned more than one Filesystem -- it returned %d!", len(mounted)))
	}
	m.Storage.RemoveFilesystem(mounted[0])
	return countMachine(rest.OKReply(view.Machine(m)))
}
