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

// poolPart is a storage pool. An existing pool is never resized or made again. It only
// needs the same driver and, if a source is named, the same source.
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
			return refuseFinding(object, fmt.Sprintf("it exists with the driver %s instead of %s", have.Driver, want.Driver),
				"Ask for that driver, or for a pool of another name."), nil
		case have.Status == api.StoragePoolStatusPending:
			return makeFinding(object, want.Driver, func() error { return nil }), nil // another process is making it at this moment
		case have.Status != "" && have.Status != api.StoragePoolStatusCreated:
			return refuseFinding(object, "it exists, and is "+have.Status, "See LXD's log for why it cannot be used."), nil
		}
		if source, other := differentSource(want, have); other {
			return refuseFinding(object, fmt.Sprintf("it exists on %s instead of %s", source, wantedSource(want)), "Ask for a pool of another name."), nil
		}
		return keepFinding(object, describeKeptPool(want, have)), nil
	}
}

func wantedSource(want api.StoragePoolsPost) string { return want.Config["source"] }

// differentSource returns the source of a pool if it is not the named one. LXD replaces the
// named source by what it made there, and keeps the named one as volatile.initial_source.
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
			text += ", and keeps that size instead of " + asked
		}
	}
	return text
}

// newPoolFinding is the finding for a missing pool. The pool is made, unless this LXD or
// this disk is unsuitable.
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
		return refuseFinding(object, fmt.Sprintf("LXD cannot use the driver %s on this machine; it can use %s", want.Driver, strings.Join(drivers, ", ")),
			"Ask for one of those. Or install what the driver needs (LXD's log says what), and restart LXD while no instance runs."), nil
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

// wipeExtension is the API extension of LXDs that wipe a disk on request. Since that
// extension, LXD no longer forces zpool to take a disk that is not empty.
const wipeExtension = "storage_pool_source_wipe"

// overwriteRisk returns why an LXD without that extension must not get a disk, and the way
// out. Both are empty if LXD and pool are safe.
//
// LXD's resources do not show what is on a disk that is not mounted, such as a member of a
// RAID or an exported pool.
func overwriteRisk(server *api.Server, want api.StoragePoolsPost) (why, hint string) {
	source, version := wantedSource(want), server.Environment.ServerVersion
	switch {
	case !strings.HasPrefix(source, "/dev/") || slices.Contains(server.APIExtensions, wipeExtension):
		return "", ""
	case want.Config["source.wipe"] != "":
		return fmt.Sprintf("LXD %s cannot wipe %s", version, source),
			"Update LXD (snap refresh lxd --channel=5.21/stable); or wipe the disk yourself (wipefs --all), and leave out the wiping."
	case want.Driver == string(cloudinit.ZFS):
		return fmt.Sprintf("LXD %s would overwrite %s, whatever is on it", version, source),
			"Update LXD (snap refresh lxd --channel=5.21/stable): newer ones refuse a disk that is not empty. " +
				"Or make a pool of ZFS on the disk yourself (zpool create NAME DISK), which also refuses a disk that is not empty, and give its name as the source."
	}
	return "", ""
}

// describeDiskUse says what is on a disk, as far as LXD shows it: mounted file systems and
// partitions. For a disk that LXD does not list, LXD itself decides.
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

// isDisk reports whether the path is one of the disk's paths.
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
