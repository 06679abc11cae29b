package sim

import (
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Versions of MAAS that the simulator supports.
const (
	// Version34 to Version38 are the versions of MAAS with VM hosts. The README has a
	// table of their differences.
	Version34 = versions.V34
	Version35 = versions.V35
	Version36 = versions.V36
	Version37 = versions.V37
	Version38 = versions.V38
	// VersionGone is a MAAS without VM hosts: their calls answer 410 Gone, install_kvm and
	// register_vmhost 400, and allocate composes nothing. It still has the machines of the
	// model's hosts: see [Sim.Upgrade].
	VersionGone = versions.WithoutVMHosts
)

// Keys of a model that names none. They give access only to a simulator, so they may be
// printed.
const (
	DefaultAdminKey = "simAdminConsumer00:simAdminToken00000:simAdminSecret00000000000000000000"
	DefaultUserKey  = "simUserConsumer000:simUserToken000000:simUserSecret000000000000000000000"
)

// Model is the size and the behaviour of a world. The zero value is a MAAS without hosts
// whose transitions take no time; see [Latency]. Keep a model in a file with maassim
// -model FILE.
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
	// Subnets are the networks that MAAS knows. Without any, there is one, 10.77.0.0/24
	// with DHCP, and every host is attached to it.
	Subnets []SubnetModel `json:"subnets,omitempty"`
	// Images are the imported images. nil means "ubuntu/jammy" and "ubuntu/noble"; an
	// empty list means none. Flag: -images.
	Images []string `json:"images"`
	// Architectures are the architectures of each image. Without any, it is "amd64".
	Architectures []string `json:"architectures,omitempty"`
	// ImageArchitectures are the architectures of single images, by image, in place of
	// Architectures.
	ImageArchitectures map[string][]string `json:"image_architectures,omitempty"`
	// Hosts are the LXD servers, most of them VM hosts. Flags: -hosts and
	// those of HostModel.
	Hosts []HostModel `json:"hosts,omitempty"`
	// Machines are machines that are not VMs of those hosts. Flag: -machines.
	Machines []MachineModel `json:"machines,omitempty"`
	// AdminKey is the API key of the user admin, "consumer:token:secret".
	// Flag: -admin-key.
	AdminKey string `json:"admin_key,omitempty"`
	// UserKey is the API key of a user without admin rights. Flag: -user-key.
	UserKey string `json:"user_key,omitempty"`
	// Latency is how long operations take. Flags: see Latency.
	Latency Latency `json:"latency,omitzero"`
	// RandomFaults is how often things go wrong by chance. Flags: see RandomFaults.
	RandomFaults RandomFaults `json:"nasty,omitzero"`
	// LXDListen is where the LXDs serve their API over TLS. Flag: -lxd-listen, whose
	// default is auto.
	//
	//   - "off" or empty: nowhere; only [Sim.DialContext] reaches them
	//   - a loopback network like "127.77.0.0/16": at the LXDs' own addresses; the model's
	//     subnets and hosts without an address get one in this network
	//   - "auto": the same in the first such network that is free
	//   - "ports": each on a port of 127.0.0.1
	//
	// An LXD outside of the loopback network gets a port, too.
	LXDListen string `json:"lxd_listen,omitempty"`
	// Seed makes names, system ids and random choices repeatable. Flag: -seed.
	Seed int64 `json:"seed,omitempty"`
}

// SubnetModel is a subnet. It is alone on the untagged VLAN of its own fabric.
type SubnetModel struct {
	// Name is the subnet's name. The default is its CIDR.
	Name string `json:"name,omitempty"`
	// CIDR is an IPv4 network like "10.77.0.0/24". The default of the nth subnet is
	// 10.77.n.0/24, or n.0/24 of the network in which LXDs listen.
	CIDR string `json:"cidr"`
	// DHCP means that MAAS serves DHCP on its VLAN.
	DHCP bool `json:"dhcp,omitempty"`
	// Gateway is the router's address, or empty.
	Gateway string `json:"gateway,omitempty"`
	// DynamicStart and DynamicEnd are the first and the last address of the dynamic range.
	// If both are empty and DHCP is on, it is the upper part of the network.
	DynamicStart string `json:"dynamic_start,omitempty"`
	DynamicEnd   string `json:"dynamic_end,omitempty"`
	// ReservedStart and ReservedEnd are a range from which MAAS assigns no addresses.
	ReservedStart string `json:"reserved_start,omitempty"`
	ReservedEnd   string `json:"reserved_end,omitempty"`
	// Learned means that MAAS discovers the subnet only with the inventory of a host on
	// it.
	Learned bool `json:"learned,omitempty"`
}

// HostModel is an LXD server and its VM host, unless it is unregistered.
type HostModel struct {
	// Name is the VM host's name and the hostname of its machine.
	Name string `json:"name"`
	// Cores of the server. Flag: -cores.
	Cores int `json:"cores"`
	// MemoryMiB of the server. Flag: -memory.
	MemoryMiB int64 `json:"memory_mib"`
	// HugePagesMiB is the part of the memory that is reserved as huge pages. MAAS does not
	// show it.
	HugePagesMiB int64 `json:"huge_pages_mib,omitempty"`
	// StoragePools are the LXD's pools. Without any, there is one, "default", of 500 GB.
	StoragePools []StoragePoolModel `json:"storage_pools,omitempty"`
	// Architecture of the server and its VMs. It is "amd64/generic" if empty. A real LXD
	// never stands in for a server of another architecture.
	Architecture string `json:"architecture,omitempty"`
	// Zone of the VM host. It is "default" if empty. Flag: -zones; hosts are spread over
	// the zones.
	Zone string `json:"zone,omitempty"`
	// Pool is the VM host's resource pool, "default" if empty.
	Pool string `json:"pool,omitempty"`
	// Tags of the VM host. MAAS always adds pod-console-logging.
	Tags []string `json:"tags,omitempty"`
	// Project is the LXD project that MAAS manages, "default" if empty.
	Project string `json:"project,omitempty"`
	// Address of the LXD's API. The default is an address of 10.200.0.0/16. Two hosts with
	// the same address are two projects of one server.
	Address string `json:"address,omitempty"`
	// Subnets names the subnets of its bridges. nil means all but NICSubnet.
	Subnets []string `json:"subnets"`
	// NICSubnet names the subnet of its first NIC, which is not a bridge. Empty means none
	// that MAAS knows.
	NICSubnet string `json:"nic_subnet,omitempty"`
	// CPUOvercommit and MemoryOvercommit are the VM host's ratios, 1 if zero.
	CPUOvercommit    float64 `json:"cpu_overcommit,omitempty"`
	MemoryOvercommit float64 `json:"memory_overcommit,omitempty"`
	// LXDVersion is "5.21.3" if empty. Trust passwords do not work from 6.1 on, and MAAS
	// cannot compose from 6.7 on.
	LXDVersion string `json:"lxd_version,omitempty"`
	// Instances are VMs in the LXD that MAAS does not know (yet).
	Instances []string `json:"instances,omitempty"`
	// MachineTags and OwnerData belong to the server's machine in MAAS. After MAAS removed
	// VM hosts, only this machine is left of a host.
	MachineTags []string          `json:"machine_tags,omitempty"`
	OwnerData   map[string]string `json:"owner_data,omitempty"`
	// Unregistered means that MAAS has no VM host for this LXD and never had one.
	Unregistered bool `json:"unregistered,omitempty"`
	// TrustPassword is the LXD's core.trust_password. If it is empty, no password works.
	// LXD 6.1 and later have none.
	TrustPassword string `json:"trust_password,omitempty"`
	// TrustedCertificates are PEM certificates that the LXD trusts.
	TrustedCertificates []string `json:"trusted_certificates,omitempty"`
	// MAC is the address of the server's first NIC. MAAS finds the server's machine by it.
	// If it is empty, one is made up.
	MAC string `json:"mac,omitempty"`
	// OSystem and Series are the server's operating system, "ubuntu" and "jammy" if empty.
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
	// SizeBytes is the size in bytes, if GB are too coarse. It overrides SizeGB.
	SizeBytes int64 `json:"size_bytes,omitempty"`
	// Default marks the pool for disks without a pool tag. Without a mark, it is the first
	// pool.
	Default bool `json:"default,omitempty"`
	// Path is the pool's path on its server's disk. The default is the path of LXD's snap.
	Path string `json:"path,omitempty"`
}

// MachineModel is a machine with manual power: bare metal, or one of somebody else.
type MachineModel struct {
	Hostname  string `json:"hostname"`
	Cores     int    `json:"cores,omitempty"`
	MemoryMiB int64  `json:"memory_mib,omitempty"`
	DiskGB    int64  `json:"disk_gb,omitempty"`
	// Status is one of MAAS's names New, Ready, Allocated, Deployed and Broken. It is
	// "Ready" if empty.
	Status string `json:"status,omitempty"`
	Zone   string `json:"zone,omitempty"`
	Pool   string `json:"pool,omitempty"`
	// Domain is the machine's DNS domain, "maas" if empty.
	Domain string   `json:"domain,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	// Architecture is "amd64/generic" if empty.
	Architecture string `json:"architecture,omitempty"`
	// NoDisk and NoNIC mean that commissioning found none.
	NoDisk bool `json:"no_disk,omitempty"`
	NoNIC  bool `json:"no_nic,omitempty"`
	// MoreNICs is the number of NICs beyond the first, on the same network.
	MoreNICs int `json:"more_nics,omitempty"`
	// MAC is the address of its NIC. If it is empty, one is made up.
	MAC string `json:"mac,omitempty"`
	// Description is the machine's free text.
	Description string `json:"description,omitempty"`
	// MoreDisksGB are disks beyond the first, from which it boots. With them, a storage
	// pool of its LXD can use only disks that the machine has. Without them, it can use
	// any /dev/….
	MoreDisksGB []int64 `json:"more_disks_gb,omitempty"`
	// FirstBoot is how its user-data ends after each deployment: "ok" if empty, "fails",
	// "never", or "real", which an outside program runs.
	FirstBoot FirstBoot `json:"first_boot,omitempty"`
	// VendorData is the cloud-config that MAAS adds to user-data in a real first boot,
	// such as settings for proxies or hardware sync.
	VendorData string `json:"vendor_data,omitempty"`
}

// FirstBoot is how the user-data of a deployed machine ends.
type FirstBoot string

// The ends of a first boot. A first boot that fails or never ends leaves no LXD. MAAS
// shows Deployed in all cases.
const (
	BootOK    = FirstBoot(world.BootOK)
	BootFails = FirstBoot(world.BootFails)
	BootNever = FirstBoot(world.BootNever)
	// BootReal is not simulated. An outside program boots with [Sim.InstalledFiles] and
	// asks the metadata service. The machine is Deployed once it has asked for its
	// user-data. When MAAS looks for its LXD, the simulator connects to the machine's
	// address.
	BootReal = FirstBoot(world.BootReal)
)

// isValid tells whether the value is known. Empty is valid.
func (f FirstBoot) isValid() bool {
	return slices.Contains([]FirstBoot{"", BootOK, BootFails, BootNever, BootReal}, f)
}

// Latency is how long operations take. With zero a transition ends at once, but clients
// can still see it. It ends after the first read of the machine that shows it, and not
// before a power action that it waits for. In a file each latency is a text like "300ms".
type Latency struct {
	// Call is added to every call: half of it before the call has an effect, half after.
	// The simulator's own work for a read counts into the second half. Flag: -call.
	Call time.Duration
	// Compose is half LXD's time to create a VM, and half the time until MAAS has saved
	// it. With zero, nothing else can happen during a compose. Flag: -compose.
	Compose time.Duration
	// Commission is the time from the start of commissioning to Ready. Its last fifth
	// shows as Testing. Flag: -commission.
	Commission time.Duration
	// Deploy is the time from Deploying to Deployed. Flag: -deploy.
	Deploy time.Duration
	// FirstBoot is the time from Deployed until the user-data has run. MAAS shows Deployed
	// when the machine fetches its user-data. Flag: -first-boot.
	FirstBoot time.Duration
	// FirstBootMost is the longest first boot, if they differ. Each then takes a time
	// between FirstBoot and this one. It depends on Seed, the machine's name, and the
	// number of its boots. If zero, all take FirstBoot. Flag: -first-boot-most.
	FirstBootMost time.Duration
	// Release is the time from Releasing to Ready. Flag: -release.
	Release time.Duration
	// PowerOn and PowerOff are LXD's times. Meanwhile MAAS refuses another action. Flags:
	// -power-on, -power-off.
	PowerOn, PowerOff time.Duration
	// Refresh is the time between the listing of a host's instances and the end of a
	// refresh. It is also a part of creating and updating a VM host. Flag: -refresh.
	Refresh time.Duration
	// Inventory is the time until a new VM host shows its cores. Flag: -inventory.
	Inventory time.Duration
	// Delete is LXD's time to remove an instance. Flag: -delete.
	Delete time.Duration
}
