package disks

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// contentTarget is the device whose file system a call changes, with MAAS's words for it.
type contentTarget struct {
	storage.Device
	m       *world.Machine
	what    string // "block device"
	capital string
	machine string // "machine"
	show    func() any
}

type contentsHandler func(*request.Call, contentTarget) rest.Reply

// onDiskContents makes a handler for the file system of a block device.
func onDiskContents(action string, f contentsHandler) func(*request.Call, *world.Machine, *storage.Disk) rest.Reply {
	return func(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
		t := contentTarget{d, m, "block device", "Block device", "machine", func() any { return view.Disk(m, d) }}
		return t.handle(c, action, f)
	}
}

// onPartitionContents makes a handler for the file system of a partition.
func onPartitionContents(action string, f contentsHandler) func(*request.Call, *world.Machine, *storage.Partition) rest.Reply {
	return func(c *request.Call, m *world.Machine, p *storage.Partition) rest.Reply {
		t := contentTarget{p, m, "partition", "Partition", "node", func() any { return view.Partition(m, p) }}
		return t.handle(c, action, f)
	}
}

// handle refuses machines in other statuses. It allows only administrators to change a
// Ready machine (raise_error_for_invalid_state_on_allocated_operations).
func (t contentTarget) handle(c *request.Call, action string, f contentsHandler) rest.Reply {
	switch {
	case !world.IsStatusIn(t.m.Status, world.StatusReady, world.StatusAllocated):
		return rest.ConflictReply(fmt.Sprintf("Cannot %s %s because the %s is not Ready or Allocated.", action, t.what, t.machine))
	case t.m.Status == world.StatusReady && !c.User.Admin:
		rep := rest.ForbiddenReply()
		rep.Body = fmt.Appendf(nil, "Cannot %s %s because you don't have the permissions on a Ready %s.", action, t.what, t.machine)
		return rep
	}
	return f(c, t)
}

// formatDevice makes a file system (FormatBlockDeviceForm, FormatPartitionForm).
func formatDevice(c *request.Call, t contentTarget) rest.Reply {
	f := newForm(c)
	label := f.readText("label", false)
	fs := &storage.Filesystem{UUID: f.readUUID(), Fstype: f.readChoice("fstype", true, storage.Formats...), Label: &label}
	switch d := t.Device.(type) {
	case *storage.Disk:
		if fs.Fstype != "" && d.Table != nil {
			f.errs.Add("__all__", "Cannot format block device with a partition table.")
		}
	case *storage.Partition:
		if storage.IsVMFSBase(&t.m.Storage, d) {
			f.errs["VMFS"] = []string{"Base VMFS partitions may not be formatted."}
		}
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(t.m, func() (any, *storage.Problem) {
		if bad := t.m.Storage.FormatDevice(t.Device, fs); bad != nil {
			return nil, bad
		}
		return t.show(), nil
	})
}

func unformatDevice(_ *request.Call, t contentTarget) rest.Reply {
	fs := t.m.Storage.EffectiveFilesystem(t.Device)
	switch {
	case fs == nil:
		return rest.BadTextReply(t.capital + " is not formatted.")
	case fs.Mount != nil:
		return rest.BadTextReply("Filesystem is mounted and cannot be unformatted. Unmount the filesystem before unformatting the " + t.what + ".")
	case fs.Group != nil:
		name := fs.Group.NiceName()
		return rest.BadTextReply(fmt.Sprintf("Filesystem is part of a %s, and cannot be unformatted. Remove %s from %s before unformatting the %s.", name, t.what, name, t.what))
	}
	t.m.Storage.RemoveFilesystem(fs)
	return rest.OKReply(t.show())
}

// mountDevice sets the mount point of a file system (forms/filesystem.py).
func mountDevice(c *request.Call, t contentTarget) rest.Reply {
	f, fs := newForm(c), t.m.Storage.EffectiveFilesystem(t.Device)
	at, options := "none", f.readText("mount_options", false)
	switch {
	case fs == nil:
		f.errs.Add("__all__", "Cannot mount an unformatted partition or block device.")
	default:
		if fs.UsesMountPoint() {
			at = f.readPath("mount_point", true)
		}
		if fs.Group != nil {
			f.errs.Add("__all__", "Filesystem is part of a filesystem group, and cannot be mounted.")
		}
	}
	if bad := f.errorReply(); bad != nil {
		return *bad
	}
	return changeStorage(t.m, func() (any, *storage.Problem) {
		if bad := t.m.Storage.MountFilesystem(fs, &at, &options); bad != nil {
			return nil, bad
		}
		return t.show(), nil
	})
}

func unmountDevice(_ *request.Call, t contentTarget) rest.Reply {
	fs := t.m.Storage.EffectiveFilesystem(t.Device)
	switch {
	case fs == nil:
		return rest.BadTextReply(t.capital + " is not formatted.")
	case fs.Mount == nil:
		return rest.BadTextReply("Filesystem is already unmounted.")
	}
	return changeStorage(t.m, func() (any, *storage.Problem) {
		if bad := t.m.Storage.MountFilesystem(fs, nil, nil); bad != nil {
			return nil, bad
		}
		return t.show(), nil
	})
}
