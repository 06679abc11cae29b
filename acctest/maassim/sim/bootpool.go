package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// poolDrivers are LXD's storage drivers.
var poolDrivers = []string{"dir", "btrfs", "zfs", "lvm", "ceph", "cephfs", "cephobject", "powerflex", "pure", "alletra"}

const (
	// leastLoop and mostLoop bound a pool in a file that no size was given for:
	// LXD takes a fifth of the disk.
	leastLoop = 5 << 30
	mostLoop  = 30 << 30
	// remotePool is how large a pool on a storage cluster is here.
	remotePool = 10e12
)

// addPool makes a storage pool. Once more with the same driver changes
// nothing.
func (b *bootedLXD) addPool(name, driver string, config map[string]string) error {
	switch old := slices.IndexFunc(b.pools, func(p StoragePoolModel) bool { return p.Name == name }); {
	case name == "":
		return errors.New("a storage pool without a name")
	case old >= 0 && b.pools[old].Driver == driver:
		return nil
	case old >= 0:
		return fmt.Errorf("storage pool %q is of type %q instead of %q", name, b.pools[old].Driver, driver)
	case !slices.Contains(poolDrivers, driver):
		return fmt.Errorf("failed to create storage pool %q: unsupported storage driver %q", name, driver)
	}
	size, err := b.poolSize(driver, config)
	if err != nil {
		return fmt.Errorf("failed to create storage pool %q: %w", name, err)
	}
	b.pools = append(b.pools, StoragePoolModel{Name: name, Driver: driver, SizeBytes: size})
	b.config["storage-pool "+name] = config
	return nil
}

// poolSize is the room of a pool: a disk's, a file's, or that of a cluster.
func (b *bootedLXD) poolSize(driver string, config map[string]string) (int64, error) {
	var system int64
	if len(b.disks) > 0 {
		system = b.disks[0].sizeBytes
	}
	source := config["source"]
	size, err := readSize(config["size"])
	switch {
	case err != nil:
		return 0, err
	case driver == "dir" && source == "":
		return system, nil
	case !slices.Contains([]string{"dir", "btrfs", "zfs", "lvm"}, driver):
		return or(size, remotePool), nil
	case source == "":
		return or(size, max(leastLoop, min(system/5, mostLoop))), nil
	case strings.HasPrefix(source, "/dev/"):
		return b.takeDisk(source, size)
	}
	return 0, fmt.Errorf("source %q does not exist", source)
}

// takeDisk uses a disk for a pool. A machine whose model names only the disk
// of its system has any other, too.
func (b *bootedLXD) takeDisk(source string, sizeBytes int64) (int64, error) {
	i := slices.IndexFunc(b.disks, func(d bootDisk) bool { return slices.Contains(d.paths, source) })
	switch {
	case i < 0 && len(b.disks) > 1:
		return 0, fmt.Errorf("source %q does not exist", source)
	case i < 0:
		return or(sizeBytes, b.disks[0].sizeBytes), nil
	case b.disks[i].system || b.disks[i].used:
		return 0, fmt.Errorf("source %q is in use", source)
	}
	b.disks[i].used = true
	return b.disks[i].sizeBytes, nil
}

// sizeUnits are those that LXD reads.
var sizeUnits = []struct {
	suffix string
	bytes  float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"B", 1},
}

// readSize reads "100GiB", "500GB", or bytes; nothing is 0.
func readSize(text string) (int64, error) {
	unit, number := 1.0, strings.TrimSpace(text)
	for _, u := range sizeUnits {
		if rest, found := strings.CutSuffix(number, u.suffix); found {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n <= 0 || n*unit > 1e18 {
		return 0, fmt.Errorf("invalid size %q", text)
	}
	return int64(n * unit), nil
}
