package setup

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// poolPart looks for a storage pool. One that is there is never resized nor made
// anew: it need only be of the same driver and, where one is named, on the same
// source.
func (a *applier) poolPart(want api.StoragePoolsPost) part {
	object := "storage pool " + want.Name
	return func() (finding, error) {
		have, _, err := a.conn.GetStoragePool(want.Name)
		switch {
		case isNotFound(err):
			return a.newPoolFinding(object, want)
		case err != nil:
			return failedFinding(object), err
		case have.Driver != want.Driver:
			return refuseFinding(object, fmt.Sprintf("it is there with the driver %s instead of %s", have.Driver, want.Driver),
				"Ask for that driver, or for a pool of another name."), nil
		case have.Status == api.StoragePoolStatusPending:
			return makeFinding(object, want.Driver, func() error { return nil }), nil // someone makes it at this moment
		case have.Status != "" && have.Status != api.StoragePoolStatusCreated:
			return refuseFinding(object, "it is there, and is "+have.Status, "See LXD's log for why it cannot be used."), nil
		}
		if source, other := differentSource(want, have); other {
			return refuseFinding(object, fmt.Sprintf("it is there on %s instead of %s", source, wantedSource(want)), "Ask for a pool of another name."), nil
		}
		return keepFinding(object, describeKeptPool(want, have)), nil
	}
}

func wantedSource(want api.StoragePoolsPost) string { return want.Config["source"] }

// differentSource says on what a pool is made, if that is not what was named. LXD
// replaces what it was told by what it made there, and notes the first.
func differentSource(want api.StoragePoolsPost, have *api.StoragePool) (string, bool) {
	named := wantedSource(want)
	told := []string{have.Config["volatile.initial_source"], have.Config["source"], have.Config["ceph.osd.pool_name"], have.Config["zfs.pool_name"], have.Config["lvm.vg_name"]}
	if named == "" || slices.Contains(told, named) {
		return "", false
	}
	return cmp.Or(told[0], told[1], "something else"), true
}

// describeKeptPool describes a pool that is kept.
func describeKeptPool(want api.StoragePoolsPost, have *api.StoragePool) string {
	text := have.Driver
	if size := have.Config["size"]; size != "" {
		text += " of " + size
		if asked := want.Config["size"]; asked != "" && asked != size {
			text += ", and stays so instead of " + asked
		}
	}
	return text
}

// newPoolFinding is a pool that is not there yet: to be made, unless this LXD or this
// disk will not do.
func (a *applier) newPoolFinding(object string, want api.StoragePoolsPost) (finding, error) {
	server, _, err := a.conn.GetServer()
	if err != nil {
		return failedFinding(object), err
	}
	var drivers []string
	for _, d := range server.Environment.StorageSupportedDrivers {
		drivers = append(drivers, d.Name)
	}
	slices.Sort(drivers)
	if len(drivers) > 0 && !slices.Contains(drivers, want.Driver) {
		return refuseFinding(object, fmt.Sprintf("LXD cannot use the driver %s on this machine, but %s", want.Driver, strings.Join(drivers, ", ")),
			"Ask for one of those; or install what the driver needs, see LXD's log, and restart LXD while no instance runs."), nil
	}
	if why, hint := overwriteRisk(server, want); why != "" {
		return refuseFinding(object, why, hint), nil
	}
	resources, err := a.conn.GetServerResources()
	if err != nil {
		return failedFinding(object), err
	}
	if use := describeDiskUse(resources.Storage.Disks, wantedSource(want)); use != "" {
		return refuseFinding(object, wantedSource(want)+" is in use: "+use, "Name an empty disk."), nil
	}
	return makeFinding(object, strings.TrimSpace(want.Driver+" "+formatConfig(want.Config)), func() error { return a.conn.CreateStoragePool(want) }), nil
}

// wipeExtension is the API extension of LXDs that wipe a disk where they are told to. With
// it came that zpool is not made to take a disk whatever it carries.
const wipeExtension = "storage_pool_source_wipe"

// overwriteRisk says why an LXD without that extension is not given a disk, and the
// way out; nothing of an LXD or of a pool that is safe. What is on a disk and not
// mounted, such as a member of a RAID or an exported pool, LXD's resources do not
// show.
func overwriteRisk(server *api.Server, want api.StoragePoolsPost) (why, hint string) {
	source, version := wantedSource(want), server.Environment.ServerVersion
	switch {
	case !strings.HasPrefix(source, "/dev/") || slices.Contains(server.APIExtensions, wipeExtension):
		return "", ""
	case want.Config["source.wipe"] != "":
		return fmt.Sprintf("LXD %s cannot wipe %s", version, source),
			"Update LXD (snap refresh lxd --channel=5.21/stable); or wipe the disk yourself (wipefs --all), and leave that out."
	case want.Driver == string(cloudinit.ZFS):
		return fmt.Sprintf("LXD %s would overwrite %s, whatever it carries", version, source),
			"Update LXD (snap refresh lxd --channel=5.21/stable): newer ones refuse a disk that is not empty. " +
				"Or make a pool of ZFS on the disk yourself (zpool create NAME DISK), which looks, too, and give its name as the source."
	}
	return "", ""
}

// describeDiskUse says what is on a disk, as far as LXD sees it: file systems that
// are mounted, and partitions. What it does not list is for LXD to judge.
func describeDiskUse(disks []api.ResourcesStorageDisk, source string) string {
	mounted := func(p api.ResourcesStorageDiskPartition) bool { return p.Mounted }
	for _, disk := range disks {
		part := func(p api.ResourcesStorageDiskPartition) bool { return source == "/dev/"+p.ID && p.Mounted }
		whole := isDisk(disk, source)
		switch {
		case whole && disk.Mounted, whole && slices.ContainsFunc(disk.Partitions, mounted), slices.ContainsFunc(disk.Partitions, part):
			return "it is mounted"
		case whole && len(disk.Partitions) > 0:
			return fmt.Sprintf("it has %d partitions", len(disk.Partitions))
		}
	}
	return ""
}

// isDisk tells whether the path is one of the disk's.
func isDisk(disk api.ResourcesStorageDisk, device string) bool {
	switch folder, name := path.Split(device); folder {
	case "/dev/":
		return name == disk.ID
	case "/dev/disk/by-id/":
		return name == disk.DeviceID
	case "/dev/disk/by-path/":
		return name == disk.DevicePath
	}
	return false
}
