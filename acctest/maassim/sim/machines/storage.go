package machines

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// notSimulated is 501 for what a real MAAS would do.
func notSimulated(what string) rest.Reply {
	return rest.Refused(http.StatusNotImplemented, "The simulator does not simulate "+what+".")
}

// storageLayouts are the layouts that MAAS has (storage_layouts.py).
var storageLayouts = []string{"bcache", "blank", "custom", "flat", "lvm", "vmfs6", "vmfs7"}

// setStorageLayout replaces what lies on the disks.
func setStorageLayout(c *request.Call, m *world.Machine) rest.Reply {
	layout := c.Field("storage_layout")
	switch {
	case m.Status != world.StatusReady:
		return rest.Conflict("Cannot change the storage layout on a machine that is not Ready.")
	case layout == "":
		return rest.BadField("storage_layout", rest.MsgRequired)
	case !slices.Contains(storageLayouts, layout):
		return rest.BadField("storage_layout", fmt.Sprintf("'%s' is not a valid storage_layout.  It should be one of: '%s'.", layout, strings.Join(storageLayouts, "', '")))
	case len(m.Disks) == 0:
		return rest.BadText("Machine is missing a boot disk; no storage layout can be applied.")
	case layout != "flat" && layout != "blank":
		return notSimulated("the storage layout " + layout)
	}
	for _, option := range []string{"boot_size", "root_size", "root_device"} {
		if c.Field(option) != "" {
			return notSimulated(option + " of a storage layout")
		}
	}
	m.ClearStorage()
	if layout == "flat" {
		m.LayOut()
	}
	return machineReply(m)
}

// restorable is 409 unless the machine is in a state in which its configuration
// can be restored.
func restorable(m *world.Machine, what string) *rest.Reply {
	if world.OneOf(m.Status, world.StatusReady, world.StatusFailedTesting) {
		return nil
	}
	bad := rest.Conflict("Machine must be in a ready or failed testing state to restore " + what)
	return &bad
}

func restoreStorage(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := restorable(m, "storage configuration."); bad != nil {
		return *bad
	}
	m.ClearStorage()
	m.LayOut()
	return machineReply(m)
}

func restoreNetwork(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := restorable(m, "networking configuration"); bad != nil {
		return *bad
	}
	resetNetwork(m)
	return machineReply(m)
}

func restoreAll(_ *request.Call, m *world.Machine) rest.Reply {
	if bad := restorable(m, "default networking and storage configuration."); bad != nil {
		return *bad
	}
	m.ClearStorage()
	m.LayOut()
	resetNetwork(m)
	return machineReply(m)
}

// resetNetwork leaves the interfaces that commissioning found, as it linked them.
func resetNetwork(m *world.Machine) {
	m.NICs = slices.DeleteFunc(m.NICs, func(n *world.NIC) bool { return n.Kind != "physical" })
	m.Unlink()
	m.AutoLinks()
}

// clearGateways makes MAAS choose the machine's gateways itself.
func clearGateways(_ *request.Call, m *world.Machine) rest.Reply { return machineReply(m) }

// storageless are the file systems that need no disk (forms/filesystem.py).
var storageless = []string{"ramfs", "tmpfs"}

// mountSpecial mounts a file system that needs no disk.
func mountSpecial(c *request.Call, m *world.Machine) rest.Reply {
	if !world.OneOf(m.Status, world.StatusReady, world.StatusAllocated) {
		return rest.Conflict("Cannot mount the filesystem because the machine is not Ready or Allocated.")
	}
	errs := rest.FormErrors{}
	fstype, mount := c.Field("fstype"), c.Field("mount_point")
	switch {
	case fstype == "":
		errs.Add("fstype", rest.MsgRequired)
	case !slices.Contains(storageless, fstype):
		errs.Add("fstype", rest.ChoiceProblem(fstype))
	}
	checkMountPoint(mount, errs)
	if len(errs) > 0 {
		return rest.BadForm(errs)
	}
	m.Mounts = append(m.Mounts, world.SpecialMount{
		Fstype: fstype, Mount: mount, Options: c.Field("mount_options"), UUID: world.NewRandomUUID(), Acquired: m.Owner != nil,
	})
	return machineReply(m)
}

// checkMountPoint refuses what is no absolute path.
func checkMountPoint(mount string, errs rest.FormErrors) {
	if mount == "" {
		errs.Add("mount_point", rest.MsgRequired)
	} else if !strings.HasPrefix(mount, "/") {
		errs.Add("mount_point", rest.MsgInvalid)
	}
}

func unmountSpecial(c *request.Call, m *world.Machine) rest.Reply {
	if !world.OneOf(m.Status, world.StatusReady, world.StatusAllocated) {
		return rest.Conflict("Cannot unmount the filesystem because the machine is not Ready or Allocated.")
	}
	errs, mount := rest.FormErrors{}, c.Field("mount_point")
	checkMountPoint(mount, errs)
	i := slices.IndexFunc(m.Mounts, func(s world.SpecialMount) bool { return s.Mount == mount })
	if len(errs) == 0 && i < 0 {
		errs.Add("mount_point", "No special filesystem is mounted at this path.")
	}
	if len(errs) > 0 {
		return rest.BadForm(errs)
	}
	m.Mounts = slices.Delete(m.Mounts, i, i+1)
	return machineReply(m)
}
