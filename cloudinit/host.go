package cloudinit

import (
	"maps"
	"slices"
	"time"
)

// Defaults of a Host.
const (
	// DefaultChannel is the newest LTS track on which every MAAS with VM hosts can compose:
	// from 6.7 on LXD refuses security.secureboot, which MAAS up to 3.8 always sends.
	DefaultChannel = "5.21/stable"
	// DefaultPort is LXD's own port. MAAS uses it for an address without a port.
	DefaultPort = 8443
	// DefaultProject is the project that MAAS itself makes for VM hosts.
	DefaultProject = "maas"
	// DefaultProfile is LXD's profile for an instance that names none. MAAS prefers a
	// profile named "maas" if the project has one.
	DefaultProfile = "default"
	// DefaultBridge is the bridge that MAAS is asked to make on the machine.
	DefaultBridge = "br0"
	// DefaultPool is the name of the pool if none is described. It is also the preferred
	// pool of the profile's root disk.
	DefaultPool = "default"
	// DefaultPoolSizeGB is the size of a pool that has neither a size nor a source, in GB
	// of 10⁹ bytes.
	DefaultPoolSizeGB = 50
	// MinPoolSizeGB is the minimum size of a pool in a file, in GB of 10⁹ bytes. It is
	// LXD's own lower bound when it chooses a size.
	MinPoolSizeGB = 5
)

// Host describes an LXD host. Its zero value lacks only a certificate.
type Host struct {
	// Channel is the channel of the LXD snap: "track/risk" or "track/risk/branch"; empty:
	// DefaultChannel. An installed LXD is refreshed to it, unless it runs instances.
	Channel string
	// ListenAddress is the IP address of LXD's API, without a port; empty: all addresses,
	// IPv4 and IPv6.
	ListenAddress string
	// ListenPort is the port of LXD's API; 0: DefaultPort.
	ListenPort int
	// StoragePools are the pools by name; empty: one ZFS pool, DefaultPool, of
	// DefaultPoolSizeGB.
	StoragePools map[string]StoragePool
	// Networks are the networks for VMs, by name; empty: the bridge DefaultBridge.
	Networks map[string]Network
	// Project is the project for VMs.
	Project Project
	// Profile is the project's profile for VMs: a root disk and a NIC.
	Profile Profile
	// TrustedCertificates are public certificates (PEM). Their holders may use the project,
	// and nothing else. List the fleet's certificate, and the next one while keys are
	// rotated. At least one is needed; private keys are refused.
	TrustedCertificates []string
	// Extra is user-data of any kind that Merge accepts. It also runs.
	Extra [][]byte
	// Now returns the time for the expiry of certificates; nil: time.Now.
	Now func() time.Time
}

// Driver is a storage driver, by LXD's name.
type Driver string

// The storage drivers that VMs can use.
const (
	ZFS   Driver = "zfs"
	Btrfs Driver = "btrfs"
	LVM   Driver = "lvm"
	Dir   Driver = "dir"
	Ceph  Driver = "ceph"
)

// StoragePool is a place where LXD keeps volumes.
type StoragePool struct {
	// Driver is the storage driver; empty: ZFS.
	Driver Driver
	// SizeGB is the size of a pool in a file on the root disk, in GB of 10⁹ bytes. It is
	// for ZFS, Btrfs and LVM; 0: DefaultPoolSizeGB. It excludes Source.
	SizeGB int64
	// Source is where the pool is made, instead of in a file:
	//
	// For ZFS, Btrfs and LVM: the path of a disk or partition. Prefer "/dev/disk/by-id/…",
	// because names like /dev/sdb can change between boots.
	//
	// For ZFS also a pool or dataset ("tank/lxd"). For LVM also a volume group. For Dir an
	// existing, empty directory.
	//
	// For Btrfs also a path in a Btrfs file system. It must be an empty subvolume, such as
	// the root of the file system, or not exist yet.
	Source string
	// Wipe deletes the former content of a disk in Source, such as the pool of an earlier
	// deployment. Without Wipe, a disk that is or was in use is refused. For Btrfs and LVM
	// their own tools refuse it, for ZFS zpool does if LXD is 5.21 or newer. An older LXD
	// would overwrite the disk, so it gets no disk on which wipefs finds anything.
	//
	// Wipe never deletes a pool that this host has made: the preseed is not applied if that
	// pool exists.
	Wipe bool
	// Ceph is required for the driver Ceph, and refused for others.
	Ceph *CephPool
}

// CephPool is a pool of a Ceph cluster that the host can reach. The host's /etc/ceph must
// have the cluster's configuration and the user's keyring.
type CephPool struct {
	Cluster string // name of its file in /etc/ceph: "ceph"
	Pool    string // OSD pool
	User    string // empty: LXD's "admin"
}

// NetworkKind is how VMs reach a network.
type NetworkKind string

// The kinds of networks.
const (
	// Bridge is a bridge of the machine that MAAS made and LXD only uses. VMs on it get
	// their addresses from MAAS, and boot from MAAS.
	Bridge NetworkKind = "bridge"
	// Macvlan connects VMs to a NIC of the machine. They boot from MAAS, but cannot reach
	// the host itself.
	Macvlan NetworkKind = "macvlan"
	// Managed is a bridge that LXD makes, with its own addresses, DHCP and NAT. MAAS cannot
	// boot VMs on it.
	Managed NetworkKind = "managed"
)

// Network is a network that a VM's NIC can join.
type Network struct {
	// Kind is how VMs reach the network; empty: Bridge.
	Kind NetworkKind
	// Parent is the NIC of a Macvlan network.
	Parent string
	// IPv4Address is the address of a Managed bridge with its prefix, "10.10.0.1/24", or
	// "none". It is required there: LXD's own choice can take minutes and fail.
	IPv4Address string
	// IPv6Address is the IPv6 address of a Managed bridge, with its prefix; empty: "none".
	IPv6Address string
	// NAT turns on NAT from a Managed bridge to the host's networks.
	NAT bool
}

// Project is an LXD project.
type Project struct {
	// Name is the project's name; empty: DefaultProject.
	Name string
	// Description is for people.
	Description string
	// Features are the kinds of objects that the project has for itself, by LXD's names
	// without "features.": "images", "profiles", "networks", "networks.zones",
	// "storage.volumes", "storage.buckets". For features that are not listed, LXD's default
	// applies: the project has all but those of networks.
	Features map[string]bool
	// Limits are by LXD's names without "limits.": "instances", "virtual-machines", "cpu",
	// "memory" ("64GiB"), "disk".
	Limits map[string]string
}

// Profile has the defaults for instances of the project. MAAS gives each VM its own disks
// and NICs.
type Profile struct {
	// Name is the profile's name; empty: DefaultProfile.
	Name string
	// Pool is the pool of the root disk; empty: DefaultPool, else the only one.
	Pool string
	// Network is the network of the NIC; empty: DefaultBridge, else the only one.
	Network string
	// Config is the config of instances by LXD's keys: "limits.cpu": "2".
	Config map[string]string
}

// withDefaults returns a copy of h with all defaults filled in.
func (h Host) withDefaults() Host {
	h.Channel = valueOr(h.Channel, DefaultChannel)
	h.ListenPort = valueOr(h.ListenPort, DefaultPort)
	h.Project.Name = valueOr(h.Project.Name, DefaultProject)
	h.Profile.Name = valueOr(h.Profile.Name, DefaultProfile)
	if len(h.StoragePools) == 0 {
		h.StoragePools = map[string]StoragePool{DefaultPool: {}}
	}
	if len(h.Networks) == 0 {
		h.Networks = map[string]Network{DefaultBridge: {}}
	}
	h.StoragePools = mapValues(h.StoragePools, StoragePool.withDefaults)
	h.Networks = mapValues(h.Networks, Network.withDefaults)
	h.Profile.Pool = valueOr(h.Profile.Pool, preferredName(h.StoragePools, DefaultPool))
	h.Profile.Network = valueOr(h.Profile.Network, preferredName(h.Networks, DefaultBridge))
	if h.Now == nil {
		h.Now = time.Now
	}
	return h
}

func (p StoragePool) withDefaults() StoragePool {
	p.Driver = valueOr(p.Driver, ZFS)
	if p.Driver.canUseFile() && p.Source == "" {
		p.SizeGB = valueOr(p.SizeGB, DefaultPoolSizeGB)
	}
	return p
}

func (n Network) withDefaults() Network {
	n.Kind = valueOr(n.Kind, Bridge)
	if n.Kind == Managed {
		n.IPv6Address = valueOr(n.IPv6Address, "none")
	}
	return n
}

// canUseFile reports whether the driver can make a pool in a file of a given size.
func (d Driver) canUseFile() bool { return d == ZFS || d == Btrfs || d == LVM }

// valueOr returns value, or other if value is zero.
func valueOr[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}

func mapValues[T any](from map[string]T, fill func(T) T) map[string]T {
	to := make(map[string]T, len(from))
	for name, value := range from {
		to[name] = fill(value)
	}
	return to
}

// preferredName returns name if of has it, else the only name in of, else nothing.
func preferredName[T any](of map[string]T, name string) string {
	if _, ok := of[name]; ok {
		return name
	}
	if len(of) == 1 {
		return sortedNames(of)[0]
	}
	return ""
}

// sortedNames returns the sorted keys.
func sortedNames[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }
