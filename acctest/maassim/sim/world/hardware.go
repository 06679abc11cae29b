package world

import "slices"

// Disk is a block device. Sizes are bytes.
type Disk struct {
	ID                          int
	Name, Model, Serial, IDPath string
	SizeBytes                   int64
	Tags                        []string
	pool                        string // where the volume lies, empty for none
	StoragePool                 string // what MAAS shows of it
	Firmware                    string
	Partitions                  []partition
}

// partition is a part of a disk that MAAS's storage layout made.
type partition struct {
	ID                      int
	SizeBytes               int64
	Bootable                bool
	Fstype, Label, Mount    string
	PartUUID, FilesystemUID string
}

// SpecialMount is a mounted file system that needs no disk.
type SpecialMount struct {
	Fstype, Mount, Options, UUID string
	Acquired                     bool // it goes with the release
}

// hasAcquiredMounts are the statuses that show the mounts of an acquired machine
// (models/node.py, get_effective_special_filesystems).
var hasAcquiredMounts = []Status{
	StatusAllocated, StatusDeploying, StatusDeployed, StatusFailedDeployment, StatusReleasing, StatusFailedReleasing,
	StatusDiskErasing, StatusFailedDiskErasing,
}

// hasAcquiredDisks are those that show its file systems on disks (enum.py,
// ALLOCATED_NODE_STATUSES).
var hasAcquiredDisks = append([]Status{
	StatusRescueMode, StatusEnteringRescueMode, StatusFailedEnteringRescueMode, StatusExitingRescueMode,
	StatusFailedExitingRescueMode, StatusTesting, StatusFailedTesting,
}, hasAcquiredMounts...)

// ShowsFilesystems says whether the machine's partitions have file systems: those
// of an acquired machine are copies, made when it is acquired and gone with its
// release (utils/storage.py, get_effective_filesystem).
func ShowsFilesystems(m *Machine) bool { return m.Acquired || !OneOf(m.Status, hasAcquiredDisks...) }

// SpecialMounts are the mounts that the machine shows.
func SpecialMounts(m *Machine) (shown []SpecialMount) {
	acquired := OneOf(m.Status, hasAcquiredMounts...)
	for _, s := range m.Mounts {
		if s.Acquired == acquired {
			shown = append(shown, s)
		}
	}
	return shown
}

// AcquireFilesystems copies the machine's file systems (models/node.py,
// _create_acquired_filesystems).
func AcquireFilesystems(m *Machine) {
	DropAcquiredFilesystems(m)
	m.Acquired = true
	for _, s := range m.Mounts {
		s.Acquired = true
		m.Mounts = append(m.Mounts, s)
	}
}

// DropAcquiredFilesystems removes the copies.
func DropAcquiredFilesystems(m *Machine) {
	m.Acquired = false
	m.Mounts = slices.DeleteFunc(m.Mounts, func(s SpecialMount) bool { return s.Acquired })
}

// NIC is a network interface.
type NIC struct {
	ID         int
	Name, MAC  string
	Kind       string  // "physical" or "bridge"
	VLAN       *VLAN   // as MAAS knows it; nil: disconnected
	Wire       *Subnet // where it is really attached, which commissioning finds
	Vendor     string  // known after commissioning
	Product    string
	Links      []*Link
	Discovered []Discovery
	Tags       []string
	Parents    []*NIC
	Params     map[string]any
	OnHost     bool
	Deployed   bool // made by bridge_all: gone with the release
}

// Discovery is an address that DHCP gave while commissioning.
type Discovery struct {
	ID     int // among the links': MAAS keeps both in one table
	Subnet *Subnet
	IP     string
}

// Usable is what the flat layout can cut from a disk.
func Usable(sizeBytes int64) int64 {
	return max(((sizeBytes-(1<<20))/allotment-1)*allotment, 0)
}
