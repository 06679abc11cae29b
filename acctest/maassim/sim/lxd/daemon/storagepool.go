package daemon

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// StoragePool is a storage pool of an LXD. SizeBytes decides its size.
type StoragePool struct {
	Name, Driver string
	SizeGB       int64 // the size in a model
	SizeBytes    int64
	Default      bool   // whether MAAS puts disks without a pool tag there
	Path         string // path on the server; empty: the snap's default
}

// StoragePath is the pool's path on its server's disk, from its configuration.
func (p StoragePool) StoragePath() string {
	return cmp.Or(p.Path, "/var/snap/lxd/common/lxd/storage-pools/"+p.Name)
}

// PoolKeyError is LXD's error about an invalid key, or nil.
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
