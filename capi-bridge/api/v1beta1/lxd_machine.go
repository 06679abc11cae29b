package v1beta1

// LXDConfig describes a VM beyond its cores and memory.
type LXDConfig struct {
	// vmHost is the host that the VM must be on: its name, its id or its system
	// id in MAAS. Empty: the manager chooses one that fits.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	VMHost *string `json:"vmHost,omitempty"`

	// project is the LXD project that the VM is in. The VM goes only to hosts
	// that have the project.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Project *string `json:"project,omitempty"`

	// profile is the LXD profile of the VM. The VM goes only to hosts that have
	// it in their project. Empty: the profile maas where the project has it,
	// else none. Where MAAS makes the VMs, only maas is accepted: see the
	// manager's flag --composer.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Profile *string `json:"profile,omitempty"`

	// pinnedCores are the cores of the host that the VM is bound to, by number.
	// The VM has as many cores as the list.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:Minimum=0
	PinnedCores []int `json:"pinnedCores,omitempty"`

	// hugepages backs the VM's memory with huge pages of the host.
	// +optional
	HugePages bool `json:"hugepages,omitempty"`

	// storage describes the VM's root disk and its other disks.
	// +optional
	Storage *LXDStorageConfig `json:"storage,omitempty"`

	// network describes the VM's NICs. Without it the VM has one NIC, on a
	// network of the host with MAAS's DHCP.
	// +optional
	Network *LXDNetworkConfig `json:"network,omitempty"`

	// tags are the tags that the VM gets in MAAS. The tags that its host must
	// carry are in spec.tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Tags []string `json:"tags,omitempty"`

	// domain is the DNS domain in MAAS of the VM's name. Empty: MAAS's default
	// domain.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Domain string `json:"domain,omitempty"`
}

// LXDStorageConfig describes the root disk of a VM and its other disks.
type LXDStorageConfig struct {
	// size of the root disk: a number of GB of 10⁹ bytes, or a quantity such as
	// "60GB", "60Gi" or "1TB". Empty: minDiskSize, or 60 GB.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`

	// pool is the storage pool of the root disk on the host. Empty: the host's
	// default pool.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Pool string `json:"pool,omitempty"`

	// disks are the VM's disks besides the root disk.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Disks []LXDDisk `json:"disks,omitempty"`
}

// LXDDisk is a disk of a VM besides its root disk.
type LXDDisk struct {
	// size of the disk, in the form of the root disk's size.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size"`

	// pool is the storage pool of the disk on the host. Empty: the host's
	// default pool.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Pool string `json:"pool,omitempty"`
}

// LXDNetworkConfig describes the NICs of a VM.
type LXDNetworkConfig struct {
	// bridge is the host's bridge for all NICs that name no bridge of their
	// own.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	Bridge string `json:"bridge,omitempty"`

	// devices are names of NICs, such as eth0 and eth1, that all join bridge.
	// It is the short form of interfaces.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=15
	Devices []string `json:"devices,omitempty"`

	// interfaces are the VM's NICs, in the order in which the VM sees them. It
	// boots from the first one.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Interfaces []LXDInterface `json:"interfaces,omitempty"`
}

// LinkMode is how MAAS gives a NIC its address.
// +kubebuilder:validation:Enum=auto;dhcp;static;link_up
type LinkMode string

// The link modes, by MAAS's names.
const (
	// LinkAuto is an address that MAAS picks and configures when it deploys.
	LinkAuto LinkMode = "auto"
	// LinkDHCP means the same as LinkAuto for a VM. MAAS gives each NIC of a VM
	// an automatic link after commissioning, and we set no other.
	LinkDHCP LinkMode = "dhcp"
	// LinkStatic is the address that the NIC's ip names.
	LinkStatic LinkMode = "static"
	// LinkUp means no address. A VM cannot have that, so it is refused.
	LinkUp LinkMode = "link_up"
)

// LXDInterface is a NIC of a VM.
type LXDInterface struct {
	// name of the NIC, such as eth0.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Name string `json:"name"`

	// bridge is the host's bridge that the NIC joins. Empty: network.bridge, or
	// a bridge on the subnet or VLAN.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	Bridge string `json:"bridge,omitempty"`

	// subnet is the NIC's subnet in MAAS, by name or CIDR.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Subnet string `json:"subnet,omitempty"`

	// vlan is the NIC's VLAN, by its number in MAAS. 0 is the untagged one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4094
	VLAN *int32 `json:"vlan,omitempty"`

	// mode is how MAAS gives the NIC its address. With auto, MAAS picks an
	// address when it deploys. With static, the address is ip. The mode dhcp is
	// accepted and means auto: MAAS gives each NIC of a VM an automatic link.
	// The mode link_up (no address) is refused for the same reason. Empty means
	// static where ip is set, else auto.
	// +optional
	Mode LinkMode `json:"mode,omitempty"`

	// ip is the NIC's address, with mode static. For the first NIC you can set
	// staticIP instead.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	IP string `json:"ip,omitempty"`
}

// MachineLXDConfig is an older way to ask for a VM.
type MachineLXDConfig struct {
	// enabled makes the machine a VM.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// vmConfig describes the VM.
	// +optional
	VMConfig *VMConfig `json:"vmConfig,omitempty"`
}

// VMConfig is an older way to describe a VM.
type VMConfig struct {
	// diskSize is the size of the root disk in GB of 10⁹ bytes. It means the
	// same as lxdConfig.storage.size.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	DiskSize *int `json:"diskSize,omitempty"`

	// storagePool is the storage pool of the root disk on the host. It means
	// the same as lxdConfig.storage.pool.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	StoragePool string `json:"storagePool,omitempty"`

	// network is the subnet in MAAS of the VM's NIC, by name or CIDR. You can
	// list several, divided by commas. Each gets a NIC: eth0, eth1 and so on.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Network string `json:"network,omitempty"`

	// interfaceLinkModes is how MAAS gives NICs their addresses, by NIC name.
	// The modes are those of lxdConfig.network.interfaces: auto, dhcp (the
	// same), static or link_up (refused).
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	InterfaceLinkModes map[string]LinkMode `json:"interfaceLinkModes,omitempty"`

	// autoStart has no effect: MAAS switches a machine on when it deploys it,
	// and off when it releases it.
	// +optional
	AutoStart *bool `json:"autoStart,omitempty"`
}
