package boot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// poolDrivers are LXD's storage drivers.
var poolDrivers = []string{"dir", "btrfs", "zfs", "lvm", "ceph", "cephfs", "cephobject", "powerflex", "pure", "alletra"}

const (
	// minLoopBytes and maxLoopBytes limit a pool in a file without a given size. LXD takes
	// a fifth of the disk.
	minLoopBytes = 5 << 30
	maxLoopBytes = 30 << 30
	// remotePoolBytes is the size of a pool on a storage cluster.
	remotePoolBytes = 10e12
)

// AddPool makes a storage pool. Repeating it with the same driver changes nothing.
func (b *LXD) AddPool(name, driver string, config map[string]string) error {
	switch old := slices.IndexFunc(b.Pools, func(p daemon.StoragePool) bool { return p.Name == name }); {
	case name == "":
		return errors.New("a storage pool without a name")
	case old >= 0 && b.Pools[old].Driver == driver:
		return nil
	case old >= 0:
		return fmt.Errorf("storage pool %q is of type %q instead of %q", name, b.Pools[old].Driver, driver)
	case !slices.Contains(poolDrivers, driver):
		return fmt.Errorf("failed to create storage pool %q: unsupported storage driver %q", name, driver)
	}
	size, err := b.poolSize(driver, config)
	if err != nil {
		return fmt.Errorf("failed to create storage pool %q: %w", name, err)
	}
	b.Pools = append(b.Pools, daemon.StoragePool{Name: name, Driver: driver, SizeBytes: size})
	b.Config["storage-pool "+name] = config
	return nil
}

// poolSize is the size of a pool: that of its disk, file or cluster.
func (b *LXD) poolSize(driver string, config map[string]string) (int64, error) {
	var system int64
	if len(b.Disks) > 0 {
		system = b.Disks[0].SizeBytes
	}
	source := config["source"]
	size, err := daemon.ReadSize(config["size"])
	switch {
	case err != nil:
		return 0, err
	case driver == "dir" && source == "":
		return system, nil
	case !slices.Contains([]string{"dir", "btrfs", "zfs", "lvm"}, driver):
		return cmp.Or(size, remotePoolBytes), nil
	case source == "":
		return cmp.Or(size, max(minLoopBytes, min(system/5, maxLoopBytes))), nil
	case strings.HasPrefix(source, "/dev/"):
		return b.useDisk(source, size)
	}
	return 0, fmt.Errorf("source %q does not exist", source)
}

// useDisk uses a disk for a pool. A machine whose model names only its system disk accepts
// any other disk, too.
func (b *LXD) useDisk(source string, sizeBytes int64) (int64, error) {
	i := slices.IndexFunc(b.Disks, func(d Disk) bool { return slices.Contains(d.Paths, source) })
	switch {
	case i < 0 && len(b.Disks) > 1:
		return 0, fmt.Errorf("source %q does not exist", source)
	case i < 0:
		return cmp.Or(sizeBytes, b.Disks[0].SizeBytes), nil
	case b.Disks[i].System || b.Disks[i].Used:
		return 0, fmt.Errorf("source %q is in use", source)
	}
	b.Disks[i].Used = true
	return b.Disks[i].SizeBytes, nil
}
