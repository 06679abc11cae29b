package sim

import (
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// MAAS versions that can be simulated.
const (
	// Version34 to Version38 are the versions of MAAS with VM hosts. The table of
	// versions in the README says what they differ in.
	Version34 = versions.V34
	Version35 = versions.V35
	Version36 = versions.V36
	Version37 = versions.V37
	Version38 = versions.V38
	// VersionGone is a MAAS whose VM hosts were removed: their calls answer
	// 410 Gone, install_kvm and register_vmhost 400, and allocate composes
	// nothing. Of the hosts of the model it has the machines: see [Sim.Upgrade].
	VersionGone = versions.WithoutVMHosts
)

// Keys that a model gets when it names none. They open only a simulator, so
// they may be printed.
const (
	DefaultAdminKey = "simAdminConsumer00:simAdminToken00000:simAdminSecret00000000000000000000"
	DefaultUserKey  = "simUserConsumer000:simUserToken000000:simUserSecret000000000000000000000"
)

// Model is the size and the manner of a world. The zero value is a MAAS with
// no hosts whose transitions take no time; see [Latency]. A model can be kept
// in a file: maassim -model FILE.
type Model struct {
	// MAASVersion is "3.4" (default) to "3.8", or "gone". Flag: -version.
	MAASVersion string `json:"maas_version,omitempty"`
	// Zones are availability zones beyond "default". Flag: -zones.
	Zones []string `json:"zones,omitempty"`
	// Pools are resource pools beyond "default". Flag: -pools.
	Pools []string `json:"pools,omitempty"`
	// Domains are DNS domains beyond "maas". Flag: -domains.
	Domains []string `json:"domains,omitempty"`
	// Tags are machine tags that exist from the start. Flag: -tags.
	Tags []string `json:"tags,omitempty"`
	// Subnets are the networks that MAAS knows; none means one, 10.77.0.0/24
	// with DHCP, that every host is attached to.
	Subnets []SubnetModel `json:"subnets,omitempty"`
	// Images are the imported images, "ubuntu/jammy" and "ubuntu/noble" if
	// nil; an empty list is a MAAS without images. Flag: -images.
	Images []string `json:"images"`
	// Architectures are those for which each image is imported, "amd64" if
	// none.
	Architectures []string `json:"architectures,omitempty"`
	// Hosts are the LXD servers, most of them VM hosts. Flags: -hosts and
	// those of HostModel.
	Hosts []HostModel `json:"hosts,omitempty"`
	// Machines are machines that are no VMs of those hosts. Flag: -machines.
	Machines []MachineModel `json:"machines,omitempty"`
	// AdminKey is the API key of the user admin, "consumer:token:secret".
	// Flag: -admin-key.
	AdminKey string `json:"admin_key,omitempty"`
	// UserKey is the API key of a user without admin rights. Flag: -user-key.
	UserKey string `json:"user_key,omitempty"`
	// Latency says how long things take. Flags: see Latency.
	Latency Latency `json:"latency,omitzero"`
	// RandomFaults says how much goes wrong. Flags: see Nasty.
	RandomFaults RandomFaults `json:"nasty,omitzero"`
	// LXDListen says where LXD's API is served, over TLS: "off" (if empty), so
	// that only [Sim.DialContext] reaches it; a loopback network like
	// "127.77.0.0/16"; "auto", for the first of those that is free; or "ports",
	// each LXD on a port of 127.0.0.1. What the model gives no address of its own
	// (the subnet, hosts) lies in the network; an LXD elsewhere has a port.
	// Flag: -lxd-listen, whose default is auto.
	LXDListen string `json:"lxd_listen,omitempty"`
	// Seed makes names, system ids and probabilities repeatable. Flag: -seed.
	Seed int64 `json:"seed,omitempty"`
}

// SubnetModel is a subnet, alone on the untagged VLAN of a fabric of its own.
type SubnetModel struct {
	// Name is the subnet's name, its CIDR if empty.
	Name string `json:"name,omitempty"`
	// CIDR is an IPv4 network, "10.77.0.0/24"; if empty, of the nth subnet
	// 10.77.n.0/24, or n.0/24 of the network that LXDs listen in.
	CIDR string `json:"cidr"`
	// DHCP says that MAAS serves DHCP on its VLAN.
	DHCP bool `json:"dhcp,omitempty"`
	// Gateway is the router's address, may be empty.
	Gateway string `json:"gateway,omitempty"`
	// DynamicStart and DynamicEnd are the first and the last address of the
	// dynamic range; both empty: the upper part of the network if DHCP is on.
	DynamicStart string `json:"dynamic_start,omitempty"`
	DynamicEnd   string `json:"dynamic_end,omitempty"`
	// ReservedStart and ReservedEnd are a range that MAAS hands out nothing of.
	ReservedStart string `json:"reserved_start,omitempty"`
	ReservedEnd   string `json:"reserved_end,omitempty"`
	// Learned says that MAAS does not know the subnet before it has made the
	// inventory of a host that is attached to it.
	Learned bool `json:"learned,omitempty"`
}

// HostModel is an LXD server and, unless it is unregistered, its VM host.
type HostModel struct {
	// Name is the VM host's name and the hostname of its machine.
	Name string `json:"name"`
	// Cores of the server. Flag: -cores.
	Cores int `json:"cores"`
	// MemoryMiB of the server. Flag: -memory.
	MemoryMiB int64 `json:"memory_mib"`
	// HugePagesMiB is what of the memory is set aside as huge pages. MAAS does not
	// tell of it.
	HugePagesMiB int64 `json:"huge_pages_mib,omitempty"`
	// StoragePools of the LXD; none means one, "default", of 500 GB.
	StoragePools []StoragePoolModel `json:"storage_pools,omitempty"`
	// Zone of the VM host, "default" if empty. Flag: hosts go round -zones.
	Zone string `json:"zone,omitempty"`
	// Pool is the VM host's resource pool, "default" if empty.
	Pool string `json:"pool,omitempty"`
	// Tags of the VM host; MAAS always adds pod-console-logging.
	Tags []string `json:"tags,omitempty"`
	// Project is the LXD project that MAAS manages, "default" if empty.
	Project string `json:"project,omitempty"`
	// Address of the LXD's API, one of 10.200.0.0/16 if empty. Two hosts
	// with one address are two projects of one server.
	Address string `json:"address,omitempty"`
	// Subnets names the subnets that its bridges are attached to; nil means
	// all but NICSubnet.
	Subnets []string `json:"subnets"`
	// NICSubnet names the subnet of its first NIC, which is no bridge; empty
	// means none that MAAS knows.
	NICSubnet string `json:"nic_subnet,omitempty"`
	// CPUOvercommit and MemoryOvercommit are the VM host's ratios, 1 if zero.
	CPUOvercommit    float64 `json:"cpu_overcommit,omitempty"`
	MemoryOvercommit float64 `json:"memory_overcommit,omitempty"`
	// LXDVersion is "5.21.3" if empty. From 6.1 on no trust password works,
	// and from 6.7 on MAAS cannot compose.
	LXDVersion string `json:"lxd_version,omitempty"`
	// Instances are VMs in the LXD that MAAS does not know (yet).
	Instances []string `json:"instances,omitempty"`
	// MachineTags and OwnerData are those of the machine that MAAS has for the
	// server: where VM hosts were removed, all that is left of one.
	MachineTags []string          `json:"machine_tags,omitempty"`
	OwnerData   map[string]string `json:"owner_data,omitempty"`
	// Unregistered says that MAAS has no VM host for this LXD (yet), nor had one.
	Unregistered bool `json:"unregistered,omitempty"`
	// TrustPassword is the LXD's core.trust_password; empty: no password
	// works. LXD 6.1 and later have none.
	TrustPassword string `json:"trust_password,omitempty"`
	// TrustedCertificates are PEM certificates that the LXD trusts.
	TrustedCertificates []string `json:"trusted_certificates,omitempty"`
	// MAC is the address of the server's first NIC, by which MAAS finds the
	// machine that it runs on; made up if empty.
	MAC string `json:"mac,omitempty"`
	// OSystem and Series are what the server runs, "ubuntu" and "jammy" if
	// empty.
	OSystem string `json:"osystem,omitempty"`
	Series  string `json:"series,omitempty"`
}

// StoragePoolModel is a storage pool of an LXD.
type StoragePoolModel struct {
	Name string `json:"name"`
	// Driver is "zfs" if empty.
	Driver string `json:"driver,omitempty"`
	// SizeGB is the size in decimal GB.
	SizeGB int64 `json:"size_gb,omitempty"`
	// SizeBytes is the size in bytes where GB are too coarse; it wins.
	SizeBytes int64 `json:"size_bytes,omitempty"`
	// Default marks the pool that disks without a pool tag go to; no mark: the
	// first.
	Default bool `json:"default,omitempty"`
	// Path is where the pool lies on its server's disk. An empty one lies where
	// LXD's snap keeps it.
	Path string `json:"path,omitempty"`
}

// MachineModel is a machine with manual power: bare metal, or foreign.
type MachineModel struct {
	Hostname  string `json:"hostname"`
	Cores     int    `json:"cores,omitempty"`
	MemoryMiB int64  `json:"memory_mib,omitempty"`
	DiskGB    int64  `json:"disk_gb,omitempty"`
	// Status is MAAS's name of a resting status, "Ready" if empty: New, Ready,
	// Allocated, Deployed, Broken.
	Status string `json:"status,omitempty"`
	Zone   string `json:"zone,omitempty"`
	Pool   string `json:"pool,omitempty"`
	// Domain is the machine's DNS domain, "maas" if empty.
	Domain string   `json:"domain,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	// Architecture is "amd64/generic" if empty.
	Architecture string `json:"architecture,omitempty"`
	// NoDisk and NoNIC say that commissioning found none.
	NoDisk bool `json:"no_disk,omitempty"`
	NoNIC  bool `json:"no_nic,omitempty"`
	// MoreNICs is how many NICs it has beyond the first, on the same network.
	MoreNICs int `json:"more_nics,omitempty"`
	// MAC is the address of its NIC, made up if empty.
	MAC string `json:"mac,omitempty"`
	// Description is the machine's free text.
	Description string `json:"description,omitempty"`
	// MoreDisksGB are disks beyond the first, from which it boots. With them a
	// storage pool of its LXD can lie on a disk that the machine has, and on no
	// other; without them any /dev/… will do.
	MoreDisksGB []int64 `json:"more_disks_gb,omitempty"`
	// FirstBoot says how its user-data ends, each time that it is deployed:
	// "ok" if empty, "fails", "never", or "real", which something outside runs.
	FirstBoot FirstBoot `json:"first_boot,omitempty"`
	// VendorData is the cloud-config that MAAS adds to user-data, in a real
	// first boot: what it sets up for proxies, or for hardware sync.
	VendorData string `json:"vendor_data,omitempty"`
}

// FirstBoot says how the user-data of a deployed machine ends.
type FirstBoot string

// How a first boot ends. One that fails leaves no LXD, and one that never ends
// stays without: MAAS says Deployed in all cases.
const (
	BootOK    = FirstBoot(world.BootOK)
	BootFails = FirstBoot(world.BootFails)
	BootNever = FirstBoot(world.BootNever)
	// BootReal is not simulated: something outside boots what [Sim.Installed]
	// says, asks the metadata service, and is Deployed once it has asked for its
	// user-data. An LXD is looked for at the machine's address when MAAS does.
	BootReal = FirstBoot(world.BootReal)
)

// isValid says whether there is such a first boot; empty is one.
func (f FirstBoot) isValid() bool {
	return slices.Contains([]FirstBoot{"", BootOK, BootFails, BootNever, BootReal}, f)
}

// Latency says how long things take. With zero, a transition ends at once but
// can still be seen: it ends after the first read of the machine that shows
// it, though not before the power action that it waits for. In a file each is
// a text like "300ms".
type Latency struct {
	// Call is added to every call. Flag: -call.
	Call time.Duration
	// Compose is LXD's time to create a VM, and the time until MAAS has saved
	// it: half each. With zero nothing can happen inside a compose. Flag:
	// -compose.
	Compose time.Duration
	// Commission is the time from the start of commissioning to Ready; its
	// last fifth shows as Testing. Flag: -commission.
	Commission time.Duration
	// Deploy is the time from Deploying to Deployed. Flag: -deploy.
	Deploy time.Duration
	// FirstBoot is the time from Deployed until the user-data has run: MAAS
	// says Deployed when the machine fetches it. Flag: -first-boot.
	FirstBoot time.Duration
	// FirstBootMost is the longest first boot where they differ: each takes a time
	// between FirstBoot and this one, drawn by Seed, the machine's name and how often
	// it has booted. If zero, all take FirstBoot. Flag: -first-boot-most.
	FirstBootMost time.Duration
	// Release is the time from Releasing to Ready. Flag: -release.
	Release time.Duration
	// PowerOn and PowerOff are the times that LXD needs. While they run,
	// another action is refused. Flags: -power-on, -power-off.
	PowerOn, PowerOff time.Duration
	// Refresh is the time between a listing of a host's instances and its end;
	// also part of creating and updating a VM host. Flag: -refresh.
	Refresh time.Duration
	// Inventory is the time until a new VM host shows its cores. Flag:
	// -inventory.
	Inventory time.Duration
	// Delete is the time that removing an instance takes. Flag: -delete.
	Delete time.Duration
}
