package daemon

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// StoragePool is a storage pool of an LXD; SizeBytes counts.
type StoragePool struct {
	Name, Driver string
	SizeGB       int64 // as a model says it
	SizeBytes    int64
	Default      bool   // where MAAS puts disks without a pool tag
	Path         string // where it lies; empty: where the snap keeps it
}

// StoragePath is where the pool lies on its server's disk, as its configuration says.
func (p StoragePool) StoragePath() string {
	return cmp.Or(p.Path, "/var/snap/lxd/common/lxd/storage-pools/"+p.Name)
}

// PoolKeyError is an internal error in LXD.
func PoolKeyError(config map[string]string) error {
	known := []string{"size", "source", "source.wipe", "source.recover", "rsync.bwlimit", "rsync.compression"}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		area, _, _ := strings.Cut(key, ".")
		if !slices.Contains(known, key) && !slices.Contains([]string{"btrfs", "zfs", "lvm", "ceph", "cephfs", "user", "volume", "volatile"}, area) {
			return fmt.Errorf("invalid option for storage pool: %q", key)
		}
	}
	return nil
}
