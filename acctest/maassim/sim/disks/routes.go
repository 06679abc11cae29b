// Package disks has the operations on a machine's block devices, partitions, volume
// groups, RAIDs, bcaches and datastores.
package disks

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// Routes are the operations of this package.
func Routes() []request.Route {
	return slices.Concat(layoutRoutes, diskRoutes, partitionRoutes, volumeGroupRoutes, raidRoutes, bcacheRoutes, datastoreRoutes)
}

const (
	allDisks = "nodes/{id}/blockdevices/"
	oneDisk  = "nodes/{id}/blockdevices/{disk}/"
	allParts = "nodes/{id}/blockdevices/{disk}/partitions/"
	onePart  = "nodes/{id}/blockdevices/{disk}/partition/{part}"
)

// diskRoutes are the operations on block devices (api/blockdevices.py).
var diskRoutes = []request.Route{
	{Method: http.MethodGet, Path: allDisks, Handle: request.OnMachine(request.ViewAll, listDisks)},
	{Method: http.MethodPost, Path: allDisks, Admin: true, Handle: request.OnMachine(request.Admin, createDisk)},
	{Method: http.MethodGet, Path: oneDisk, Handle: onDisk(request.ViewAll, readDisk)},
	{Method: http.MethodPut, Path: oneDisk, Handle: onDisk(request.Admin, updateDisk)},
	{Method: http.MethodDelete, Path: oneDisk, Handle: onDisk(request.Admin, deleteDisk)},
	{Method: http.MethodPost, Path: oneDisk, Op: "add_tag", Handle: onDisk(request.Admin, tagDisk)},
	{Method: http.MethodPost, Path: oneDisk, Op: "remove_tag", Handle: onDisk(request.Admin, untagDisk)},
	{Method: http.MethodPost, Path: oneDisk, Op: "set_boot_disk", Handle: onDisk(request.Admin, setBootDisk)},
	{Method: http.MethodPost, Path: oneDisk, Op: "format", Handle: onDisk(request.Edit, onDiskContents("format", formatDevice))},
	{Method: http.MethodPost, Path: oneDisk, Op: "unformat", Handle: onDisk(request.Edit, onDiskContents("unformat", unformatDevice))},
	{Method: http.MethodPost, Path: oneDisk, Op: "mount", Handle: onDisk(request.Edit, onDiskContents("mount", mountDevice))},
	{Method: http.MethodPost, Path: oneDisk, Op: "unmount", Handle: onDisk(request.Edit, onDiskContents("unmount", unmountDevice))},
}

// partitionRoutes are the operations on partitions (api/partitions.py).
var partitionRoutes = []request.Route{
	{Method: http.MethodGet, Path: allParts, Handle: onDisk(request.ViewAll, listPartitions)},
	{Method: http.MethodPost, Path: allParts, Handle: onDisk(request.Admin, createPartition)},
	{Method: http.MethodGet, Path: onePart, Handle: onPartition(request.ViewAll, readPartition)},
	{Method: http.MethodDelete, Path: onePart, Handle: onDisk(request.Admin, deletePartition)},
	{Method: http.MethodPost, Path: onePart, Op: "add_tag", Handle: onPartition(request.Admin, tagPartition)},
	{Method: http.MethodPost, Path: onePart, Op: "remove_tag", Handle: onPartition(request.Admin, untagPartition)},
	{Method: http.MethodPost, Path: onePart, Op: "format", Handle: onPartition(request.Edit, onPartitionContents("format", formatDevice))},
	{Method: http.MethodPost, Path: onePart, Op: "unformat", Handle: onPartition(request.Edit, onPartitionContents("unformat", unformatDevice))},
	{Method: http.MethodPost, Path: onePart, Op: "mount", Handle: onPartition(request.Edit, onPartitionContents("mount", mountDevice))},
	{Method: http.MethodPost, Path: onePart, Op: "unmount", Handle: onPartition(request.Edit, onPartitionContents("unmount", unmountDevice))},
}

// onDisk looks up the block device of the path, by its id or its name
// (get_block_device_or_404).
func onDisk(need request.Permission, f func(*request.Call, *world.Machine, *storage.Disk) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		m := c.World.Machines[c.Vars["id"]]
		if m == nil {
			return rest.NoObjectReply("BlockDevice")
		}
		d := findDisk(m, c.Vars["disk"])
		switch {
		case d == nil:
			return rest.NoObjectReply("BlockDevice")
		case !c.HasPermission(need, m):
			return rest.ForbiddenReply()
		}
		return f(c, m, d)
	}
}

func findDisk(m *world.Machine, name string) *storage.Disk {
	id, isNumber := parseWholeNumber(name)
	for _, d := range m.Storage.AllDisks() {
		if isNumber && d.ID == id || !isNumber && d.Name == name {
			return d
		}
	}
	return nil
}

func parseWholeNumber(text string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil
}

// onPartition looks up the partition of the path by its id or its name. As in MAAS, it may
// be on any block device of the machine.
func onPartition(need request.Permission, f func(*request.Call, *world.Machine, *storage.Partition) rest.Reply) func(*request.Call) rest.Reply {
	return onDisk(need, func(c *request.Call, m *world.Machine, _ *storage.Disk) rest.Reply {
		p := findPartition(m, c.Vars["part"])
		if p == nil {
			return notFoundReply()
		}
		return f(c, m, p)
	})
}

func findPartition(m *world.Machine, name string) *storage.Partition {
	id, isNumber := parseWholeNumber(name)
	for _, d := range m.Storage.AllDisks() {
		for _, p := range d.Partitions() {
			if isNumber && p.ID == id || !isNumber && d.Name+"-part"+strconv.Itoa(p.Index) == name {
				return p
			}
		}
	}
	return nil
}

// notFoundReply is 404 without a message.
func notFoundReply() rest.Reply {
	return rest.Reply{Status: http.StatusNotFound, Kind: rest.TypePlain, Header: rest.APIHeader()}
}

// problemReply is MAAS's answer where a model, and not a form, refuses a change.
func problemReply(p *storage.Problem) rest.Reply {
	if p.Field == "" {
		return rest.BadTextReply(p.Text)
	}
	return rest.BadModelReply(rest.FormErrors{p.Field: {p.Text}})
}

// changeStorage makes a change, and undoes it completely if MAAS refuses it.
func changeStorage(m *world.Machine, f func() (any, *storage.Problem)) rest.Reply {
	undo := storage.RecordUndo(&m.Storage)
	shown, bad := f()
	if bad != nil {
		undo()
		return problemReply(bad)
	}
	return rest.OKReply(shown)
}

// removeFromStorage is changeStorage for an operation that answers 204.
func removeFromStorage(m *world.Machine, f func() *storage.Problem) rest.Reply {
	rep := changeStorage(m, func() (any, *storage.Problem) { return nil, f() })
	if rep.Status == http.StatusOK {
		return rest.DeletedReply()
	}
	return rep
}

// notReadyReply is 409 unless the machine is Ready.
func notReadyReply(m *world.Machine, sentence string) *rest.Reply {
	if m.Status == world.StatusReady {
		return nil
	}
	bad := rest.ConflictReply(sentence)
	return &bad
}

// listDisks shows the disks as the machine does, except for one key.
func listDisks(_ *request.Call, m *world.Machine) rest.Reply {
	views := []rest.Object{}
	for _, d := range m.Storage.AllDisks() {
		v := view.Disk(m, d)
		delete(v, "firmware_version")
		views = append(views, v)
	}
	return rest.OKReply(views)
}

func readDisk(_ *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	return rest.OKReply(view.Disk(m, d))
}

func deleteDisk(_ *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	if bad := notReadyReply(m, "Cannot delete block device because the machine is not Ready."); bad != nil {
		return *bad
	}
	return removeFromStorage(m, func() *storage.Problem { return m.Storage.DeleteDisk(d) })
}

func tagDisk(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	return retagDisk(c, m, d, withTag)
}

func untagDisk(c *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	return retagDisk(c, m, d, withoutTag)
}

func retagDisk(c *request.Call, m *world.Machine, d *storage.Disk, how func([]string, string) []string) rest.Reply {
	if bad := notReadyReply(m, "Cannot update block device because the machine is not Ready."); bad != nil {
		return *bad
	}
	if !c.HasField("tag") {
		return rest.BadTextReply("No provided tag!")
	}
	d.Tags = how(d.Tags, c.Field("tag"))
	return rest.OKReply(view.Disk(m, d))
}

func withTag(tags []string, tag string) []string {
	if slices.Contains(tags, tag) {
		return tags
	}
	return append(slices.Clone(tags), tag)
}

func withoutTag(tags []string, tag string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return t == tag })
}

func setBootDisk(_ *request.Call, m *world.Machine, d *storage.Disk) rest.Reply {
	if bad := notReadyReply(m, "Cannot set as boot disk because the machine is not Ready."); bad != nil {
		return *bad
	}
	if !d.IsPhysical() {
		return rest.BadTextReply("Cannot set a virtual block device as the boot disk.")
	}
	m.Storage.BootDisk = d
	return okTextReply()
}

// okTextReply is MAAS's answer without an object (rc.ALL_OK).
func okTextReply() rest.Reply {
	return rest.Reply{Status: http.StatusOK, Kind: rest.TypePlain, Header: rest.APIHeader(), Body: []byte("OK")}
}
