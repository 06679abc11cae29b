package disks

import (
	"fmt"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// target is a device whose file system a call is about, in MAAS's words for it.
type target struct {
	storage.Device
	m       *world.Machine
	what    string // "block device"
	capital string
	machine string // "machine"
	show    func() any
}

type contentsHandler func(*request.Call, target) rest.Reply

// contents is a handler of what lies on a block device.
func contents(action string, f contentsHandler) func(*request.Call, *world.Machine, *storage.Disk) rest.Reply {
	return func(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
		t := target{d, m, "block device", "Block device", "machine", func() any { return view.Disk(m, d) }}
		return t.handle(c, action, f)
	}
}

// partContents is one of what lies on a partition.
func partContents(action string, f contentsHandler) func(*request.Call, *world.Machine, *storage.Partition) rest.Reply {
	return func(c *request.Call, m *world.Machine, p *storage.Partition) rest.Reply {
		t := target{p, m, "partition", "Partition", "node", func() any { return view.Partition(m, p) }}
		return t.handle(c, action, f)
	}
}

// handle refuses a machine in another status, and a Ready one to all but
// administrators (raise_error_for_invalid_state_on_allocated_operations).
func (t target) handle(c *request.Call, action string, f contentsHandler) rest.Reply {
	switch {
	case !world.OneOf(t.m.Status, world.StatusReady, world.StatusAllocated):
		return rest.Conflict(fmt.Sprintf("Cannot %s %s because the %s is not Ready or Allocated.", action, t.what, t.machine))
	case t.m.Status == world.StatusReady && !c.User.Admin:
		rep := rest.Forbidden()
		rep.Body = fmt.Appendf(nil, "Cannot %s %s because you don't have the permissions on a Ready %s.", action, t.what, t.machine)
		return rep
	}
	return f(c, t)
}

// formatDevice makes a file system (FormatBlockDeviceForm, FormatPartitionForm).
func formatDevice(c *request.Call, t target) rest.Reply {
	f := newForm(c)
	label := f.text("label", false)
	fs := &storage.Filesystem{UUID: f.uuid(), Fstype: f.choice("fstype", true, storage.Formats...), Label: &label}
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
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(t.m, func() (any, *storage.Problem) {
		if bad := t.m.Storage.Format(t.Device, fs); bad != nil {
			return nil, bad
		}
		return t.show(), nil
	})
}

func unformatDevice(_ *request.Call, t target) rest.Reply {
	fs := t.m.Storage.Effective(t.Device)
	switch {
	case fs == nil:
		return rest.BadText(t.capital + " is not formatted.")
	case fs.Mount != nil:
		return rest.BadText("Filesystem is mounted and cannot be unformatted. Unmount the filesystem before unformatting the " + t.what + ".")
	case fs.Group != nil:
		name := fs.Group.NiceName()
		return rest.BadText(fmt.Sprintf("Filesystem is part of a %s, and cannot be unformatted. Remove %s from %s before unformatting the %s.", name, t.what, name, t.what))
	}
	t.m.Storage.Remove(fs)
	return rest.OK(t.show())
}

// mountDevice writes where a file system is to be mounted (forms/filesystem.py).
func mountDevice(c *request.Call, t target) rest.Reply {
	f, fs := newForm(c), t.m.Storage.Effective(t.Device)
	at, options := "none", f.text("mount_options", false)
	switch {
	case fs == nil:
		f.errs.Add("__all__", "Cannot mount an unformatted partition or block device.")
	default:
		if fs.UsesMountPoint() {
			at = f.path("mount_point", true)
		}
		if fs.Group != nil {
			f.errs.Add("__all__", "Filesystem is part of a filesystem group, and cannot be mounted.")
		}
	}
	if bad := f.refused(); bad != nil {
		return *bad
	}
	return change(t.m, func() (any, *storage.Problem) {
		if bad := t.m.Storage.Mount(fs, &at, &options); bad != nil {
			return nil, bad
		}
		return t.show(), nil
	})
}

func unmountDevice(_ *request.Call, t target) rest.Reply {
	fs := t.m.Storage.Effective(t.Device)
	switch {
	case fs == nil:
		return rest.BadText(t.capital + " is not formatted.")
	case fs.Mount == nil:
		return rest.BadText("Filesystem is already unmounted.")
	}
	return change(t.m, func() (any, *storage.Problem) {
		if bad := t.m.Storage.Mount(fs, nil, nil); bad != nil {
			return nil, bad
		}
		return t.show(), nil
	})
}
