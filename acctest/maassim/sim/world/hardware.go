package world

import (
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/storage"
)

// acquiredMountStatuses are the statuses in which MAAS shows the mounts of an acquired
// machine (models/node.py, get_effective_special_filesystems).
var acquiredMountStatuses = []Status{
	StatusAllocated, StatusDeploying, StatusDeployed, StatusFailedDeployment, StatusReleasing, StatusFailedReleasing,
	StatusDiskErasing, StatusFailedDiskErasing,
}

// acquiredDiskStatuses are the statuses in which MAAS shows an acquired machine's file
// systems on disks (enum.py, ALLOCATED_NODE_STATUSES).
var acquiredDiskStatuses = append([]Status{
	StatusRescueMode, StatusEnteringRescueMode, StatusFailedEnteringRescueMode, StatusExitingRescueMode,
	StatusFailedExitingRescueMode, StatusTesting, StatusFailedTesting,
}, acquiredMountStatuses...)

// SpecialMounts are the shown mounts of file systems without a disk.
func SpecialMounts(m *Machine) (shown []*storage.Filesystem) {
	acquired := IsStatusIn(m.Status, acquiredMountStatuses...)
	for _, f := range m.Storage.Special {
		if f.Acquired == acquired {
			shown = append(shown, f)
		}
	}
	return shown
}

// storageHost gives package storage what it needs of the machine.
type storageHost struct{ *Machine }

func (h storageHost) NextID(sequence string) int { return h.World.NextID(sequence) }
func (h storageHost) NewUUID() string            { return newUUID(h.World) }
func (h storageHost) BootsByUEFI() bool          { return h.UEFI }

func (h storageHost) ShowsAcquired() bool {
	status := h.Status
	if h.ShownStatus != nil {
		status = *h.ShownStatus
	}
	return IsStatusIn(status, acquiredDiskStatuses...)
}

func (h storageHost) Arch() string {
	short, _, _ := strings.Cut(h.Architecture, "/")
	return short
}

// Hardware is a machine's real hardware, which commissioning finds. Its disks are in its
// storage.
type Hardware struct {
	Cores     int
	MemoryMiB int64
	Info      map[string]string // by MAAS's keys of hardware_info
	Ports     []Port            // nil: as MAAS knows them
}

// Port is a network port of a machine.
type Port struct {
	MAC, Name, Vendor, Product string
	Firmware                   *string
	Speed, LinkSpeed           int // in Mbit/s
	Unplugged                  bool
	Subnet                     *Subnet // the subnet whose DHCP gave it an address, or nil
}

// NIC is a network interface.
type NIC struct {
	ID         int
	Name, MAC  string
	Kind       string  // "physical" or "bridge"
	VLAN       *VLAN   // as MAAS knows it; nil if disconnected
	RealSubnet *Subnet // its real network, which commissioning finds
	Vendor     string  // known after commissioning
	Product    string
	Firmware   *string // nil if unknown
	Speed      int     // in Mbit/s, 0 if unknown
	LinkSpeed  int
	Down       bool // no cable is plugged in, as far as MAAS knows
	Links      []*Link
	Discovered []Discovery
	Tags       []string
	Parents    []*NIC
	Params     map[string]any
	OnHost     bool
	Acquired   bool // made by bridge_all or while Allocated; a release removes it
}

// Discovery is an address that DHCP gave during commissioning.
type Discovery struct {
	ID     int // shared numbers with links, because MAAS keeps both in one table
	Subnet *Subnet
	IP     string
}

// DefaultArchitecture is the architecture of machines and LXDs that name none.
const DefaultArchitecture = "amd64/generic"

// kernelNames are LXD's names of MAAS's architectures. LXD lists the others that the processor
// runs after the server's own.
var kernelNames = map[string][]string{
	"amd64": {"x86_64", "i686"}, "arm64": {"aarch64", "armv6l", "armv7l", "armv8l"}, "ppc64el": {"ppc64le"},
	"riscv64": {"riscv64"}, "s390x": {"s390x"},
}

// IsArchitecture tells whether an LXD can have the architecture, like "arm64/generic".
func IsArchitecture(name string) bool {
	short, isGeneric := strings.CutSuffix(name, "/generic")
	return isGeneric && kernelNames[short] != nil
}

// KernelArchitectures are LXD's names of what the server's processor runs, the server's own
// first.
func (l *LXD) KernelArchitectures() []string {
	short, _, _ := strings.Cut(l.Architecture, "/")
	if names := kernelNames[short]; names != nil {
		return names
	}
	return []string{short}
}

// KernelArchitecture is LXD's name of the architecture of the server and its VMs.
func (l *LXD) KernelArchitecture() string { return l.KernelArchitectures()[0] }
