package cloudinit

import (
	"maps"
	"slices"
	"time"
)

// Defaults of a Host.
const (
	// DefaultChannel is the newest LTS track on which every MAAS that has VM
	// hosts can compose: from 6.7 on LXD refuses security.secureboot, which
	// MAAS up to 3.8 always sends.
	DefaultChannel = "5.21/stable"
	// DefaultPort is LXD's own, and the one that MAAS takes where an address
	// names none.
	DefaultPort = 8443
	// DefaultProject is the one that MAAS itself makes for VM hosts.
	DefaultProject = "maas"
	// DefaultProfile is what LXD gives to an instance that names none. MAAS
	// prefers a profile named "maas" where the project has one.
	DefaultProfile = "default"
	// DefaultBridge is the bridge that MAAS is asked to make on the machine.
	DefaultBridge = "br0"
	// DefaultPool is the name of the only pool where none is described, and of
	// the one that the profile's root disk prefers.
	DefaultPool = "default"
	// DefaultPoolSizeGB is the size of a pool that names neither a size nor a
	// source, in GB of 10⁹ bytes.
	DefaultPoolSizeGB = 50
	// MinPoolSizeGB is the least size of a pool in a file, in GB of 10⁹ bytes:
	// LXD's own lower bound when it chooses one.
	MinPoolSizeGB = 5
)

// Host is an LXD host to be. Its zero value lacks only a certificate.
type Host struct {
	// Channel of the LXD snap: "track/risk" or "track/risk/branch"; empty:
	// DefaultChannel. An LXD that is there already is refreshed to it, unless
	// it runs instances.
	Channel string
	// ListenAddress is the IP address of LXD's API, without a port; empty: all
	// addresses, IPv4 and IPv6.
	ListenAddress string
	// ListenPort of LXD's API; 0: DefaultPort.
	ListenPort int
	// StoragePools by name; empty: one on ZFS, DefaultPool, of
	// DefaultPoolSizeGB.
	StoragePools map[string]StoragePool
	// Networks that VMs can join, by name; empty: the bridge DefaultBridge.
	Networks map[string]Network
	// Project in which VMs live.
	Project Project
	// Profile of the project that VMs get: a root disk and a NIC.
	Profile Profile
	// TrustedCertificates are the public certificates, PEM, whose holders may
	// use the project, and nothing else: that of the fleet, and the next one
	// while keys are rotated. At least one; their private keys are refused.
	TrustedCertificates []string
	// Extra is user-data of any kind that Merge takes, to be run as well.
	Extra [][]byte
	// Now tells the time by which a certificate has expired; nil: time.Now.
	Now func() time.Time
}

// Driver is how a storage pool stores, by LXD's names.
type Driver string

// The storage drivers that VMs can use.
const (
	ZFS   Driver = "zfs"
	Btrfs Driver = "btrfs"
	LVM   Driver = "lvm"
	Dir   Driver = "dir"
	Ceph  Driver = "ceph"
)

// StoragePool is where LXD keeps volumes.
type StoragePool struct {
	// Driver; empty: ZFS.
	Driver Driver
	// SizeGB of a pool in a file on the root disk, in GB of 10⁹ bytes, for ZFS,
	// Btrfs and LVM; 0: DefaultPoolSizeGB. Not beside Source.
	SizeGB int64
	// Source is what the pool is made on, instead of a file: a disk or
	// partition by path, best "/dev/disk/by-id/…", because names like /dev/sdb
	// can move between boots; a ZFS pool or dataset ("tank/lxd"); an LVM
	// volume group; for Dir a directory that exists and is empty; for Btrfs also
	// a path on a file system of that kind, which must be an empty subvolume (the
	// root of such a file system is one) or not be there yet.
	Source string
	// Wipe forgets what a disk in Source carried before, such as the pool of an
	// earlier deployment. Without it a disk that is in use or was is refused:
	// for Btrfs and LVM by their own tools, for ZFS by zpool where LXD is 5.21 or
	// newer; what is older would overwrite it, and is not given a disk on which
	// wipefs finds anything. It cannot wipe a pool that this host has made: the preseed is not
	// applied where that is there.
	Wipe bool
	// Ceph is needed for the driver Ceph, and only there.
	Ceph *CephPool
}

// CephPool is a pool of a Ceph cluster that the host can reach: the cluster's
// configuration and the user's keyring must be in the host's /etc/ceph.
type CephPool struct {
	Cluster string // by the name of its file in /etc/ceph: "ceph"
	Pool    string // OSD pool
	User    string // empty: LXD's "admin"
}

// NetworkKind is how VMs reach a network.
type NetworkKind string

// The kinds of networks.
const (
	// Bridge is a bridge of the machine that MAAS made, and LXD only uses. VMs
	// on it get their addresses from MAAS, and boot from it.
	Bridge NetworkKind = "bridge"
	// Macvlan puts VMs beside a NIC of the machine. They boot from MAAS, but
	// cannot talk to the host itself.
	Macvlan NetworkKind = "macvlan"
	// Managed is a bridge that LXD makes, with addresses, DHCP and NAT of its
	// own. VMs on it cannot be booted by MAAS.
	Managed NetworkKind = "managed"
)

// Network is what a VM's NIC can join.
type Network struct {
	// Kind; empty: Bridge.
	Kind NetworkKind
	// Parent is the NIC below a Macvlan.
	Parent string
	// IPv4Address of a Managed bridge with its prefix, "10.10.0.1/24", or
	// "none". Needed there: LXD's own choice can take minutes and fail.
	IPv4Address string
	// IPv6Address of a Managed bridge, in the same way; empty: "none".
	IPv6Address string
	// NAT of a Managed bridge towards the host's networks.
	NAT bool
}

// Project is an LXD project.
type Project struct {
	// Name; empty: DefaultProject.
	Name string
	// Description for people.
	Description string
	// Features that the project has for itself, by LXD's names without
	// "features.": "images", "profiles", "networks", "networks.zones",
	// "storage.volumes", "storage.buckets". What is not named is as LXD has
	// it: all but those of networks.
	Features map[string]bool
	// Limits by LXD's names without "limits.": "instances", "virtual-machines",
	// "cpu", "memory" ("64GiB"), "disk".
	Limits map[string]string
}

// Profile is what instances of the project get unless they say otherwise. MAAS
// gives each VM disks and NICs of its own.
type Profile struct {
	// Name; empty: DefaultProfile.
	Name string
	// Pool of the root disk; empty: DefaultPool, else the only one.
	Pool string
	// Network of the NIC; empty: DefaultBridge, else the only one.
	Network string
	// Config of instances by LXD's keys: "limits.cpu": "2".
	Config map[string]string
}

// withDefaults fills in what was left out. It changes nothing of h.
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

// canUseFile tells whether the driver can make a pool in a file of a given size.
func (d Driver) canUseFile() bool { return d == ZFS || d == Btrfs || d == LVM }

// valueOr is the value, or the other where it is zero.
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

// preferredName is the preferred name if there is one such, else the only name,
// else nothing.
func preferredName[T any](of map[string]T, name string) string {
	if _, ok := of[name]; ok {
		return name
	}
	if len(of) == 1 {
		return sortedNames(of)[0]
	}
	return ""
}

// sortedNames are the keys in order.
func sortedNames[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }
