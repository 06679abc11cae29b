package cloudinit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// vmDrivers are the drivers that LXD's VMs can use.
var vmDrivers = []Driver{ZFS, Btrfs, LVM, Dir, Ceph}

func (h Host) checkPools(p *problems) {
	sources := map[string]string{}
	for _, name := range sortedNames(h.StoragePools) {
		pool, field := h.StoragePools[name], fieldpath.New("storage_pools").Key(name)
		if !namePattern.MatchString(name) {
			p.add(fieldpath.New("storage_pools"), fmt.Sprintf("%q is not a valid name of a storage pool", name), nameHint)
			continue
		}
		pool.check(p, field)
		if pool.Wipe && strings.HasPrefix(h.Channel, "5.0/") {
			p.add(field.Child("wipe"), "LXD "+h.Channel+" cannot wipe disks", "take the channel "+DefaultChannel+", or wipe the disk when the machine is released")
		}
		if other, ok := sources[pool.Source]; ok && pool.Source != "" {
			p.add(field.Child("source"), fmt.Sprintf("storage_pools.%s takes %s already", other, pool.Source), "give each pool a source of its own")
		}
		sources[pool.Source] = name
	}
}

func (s StoragePool) check(p *problems, field fieldpath.Path) {
	if !slices.Contains(vmDrivers, s.Driver) {
		p.add(field.Child("driver"), fmt.Sprintf("there is no storage driver %q for VMs", s.Driver), "take zfs, btrfs, lvm, dir or ceph")
		return
	}
	s.checkSize(p, field.Child("size_gb"))
	s.checkSource(p, field.Child("source"))
	s.checkCeph(p, field.Child("ceph"))
	if s.Wipe && !s.isOnDisk() {
		p.add(field.Child("wipe"), "there is no disk to wipe", "name one as source, or leave wipe out")
	}
}

func (s StoragePool) checkSize(p *problems, field fieldpath.Path) {
	switch {
	case s.SizeGB == 0:
	case s.Source != "":
		p.add(field, "a pool with a source is as large as its source", "leave out the size or the source")
	case !s.Driver.canUseFile():
		p.add(field, fmt.Sprintf("a pool of the driver %s has no size of its own", s.Driver), "leave it out")
	case s.SizeGB < MinPoolSizeGB:
		p.add(field, fmt.Sprintf("%d GB is too small for VMs", s.SizeGB), fmt.Sprintf("give at least %d", MinPoolSizeGB))
	}
}

func (s StoragePool) checkSource(p *problems, field fieldpath.Path) {
	source := s.Source
	switch {
	case source == "":
	case s.Driver == Ceph:
		p.add(field, "a Ceph pool is not made on a disk of the machine", "name it as ceph.pool")
	case strings.HasPrefix(source, "/"):
		s.checkPath(p, field)
	case s.Driver == ZFS && !isDatasetName(source), s.Driver == LVM && !namePattern.MatchString(source):
		p.add(field, fmt.Sprintf("%q is neither a path nor a name that %s knows", source, s.Driver), sourceHint)
	case s.Driver == Btrfs || s.Driver == Dir:
		p.add(field, fmt.Sprintf("%q is not an absolute path", source), "give the path of a directory, or for btrfs of a disk")
	}
}

const sourceHint = "give a disk as /dev/disk/by-id/…, or an existing ZFS pool or LVM volume group by its name"

func (s StoragePool) checkPath(p *problems, field fieldpath.Path) {
	device := s.isOnDisk()
	switch {
	case path.Clean(s.Source) != s.Source || strings.ContainsFunc(s.Source, isSpaceOrControl):
		p.add(field, fmt.Sprintf("%q is not a clean path", s.Source), "write it without .., // and a / at its end")
	case device && s.Driver == Dir:
		p.add(field, "the driver dir needs a directory, not a device", "take zfs, btrfs or lvm for a disk")
	case !device && (s.Driver == ZFS || s.Driver == LVM):
		p.add(field, fmt.Sprintf("%s is not a disk", s.Source), sourceHint)
	}
}

// isOnDisk reports whether the pool is made on a disk or a partition.
func (s StoragePool) isOnDisk() bool { return strings.HasPrefix(s.Source, "/dev/") }

func isSpaceOrControl(r rune) bool { return r <= ' ' || r == 0x7f }

// isDatasetName reports whether the text can be a ZFS pool, or a dataset in one.
func isDatasetName(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, "/"), func(each string) bool { return !namePattern.MatchString(each) })
}

func (s StoragePool) checkCeph(p *problems, field fieldpath.Path) {
	if s.Driver != Ceph {
		if s.Ceph != nil {
			p.add(field, "only the driver ceph uses it", "leave it out, or set the driver to ceph")
		}
		return
	}
	if s.Ceph == nil {
		p.add(field, "the driver ceph needs a cluster and a pool", "give both: the cluster by its name in the host's /etc/ceph, the pool by its name in the cluster")
		return
	}
	ceph := *s.Ceph
	for _, each := range []struct{ key, value string }{{"cluster", ceph.Cluster}, {"pool", ceph.Pool}} {
		if !namePattern.MatchString(each.value) {
			p.add(field.Child(each.key), fmt.Sprintf("%q is not a valid name of a Ceph %s", each.value, each.key), "the driver ceph needs one that exists")
		}
	}
	if ceph.User != "" && !namePattern.MatchString(ceph.User) {
		p.add(field.Child("user"), fmt.Sprintf("%q is not a valid name of a Ceph user", ceph.User), `write it without "client."`)
	}
}
