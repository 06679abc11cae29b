package v1beta1

// LXDConfig says more of a VM than its size.
type LXDConfig struct {
	// vmHost is the host that the VM must be on: its name, its id or its system
	// id in MAAS. Empty: one that fits.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	VMHost *string `json:"vmHost,omitempty"`

	// project is the LXD project that the VM is in. Only hosts that have it will
	// do.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Project *string `json:"project,omitempty"`

	// profile of LXD that the VM gets. Only hosts that have it in their project
	// will do. Empty: the one named maas where the project has it, else none.
	// Where MAAS itself makes VMs there is no choice, and no other name than maas
	// is taken: see --composer of the manager.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Profile *string `json:"profile,omitempty"`

	// pinnedCores are cores of the host that the VM is bound to, by number. The
	// VM has as many cores.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:Minimum=0
	PinnedCores []int `json:"pinnedCores,omitempty"`

	// hugepages backs the VM's memory with huge pages of the host.
	// +optional
	HugePages bool `json:"hugepages,omitempty"`

	// storage is the VM's root disk, and others.
	// +optional
	Storage *LXDStorageConfig `json:"storage,omitempty"`

	// network says what the VM's NICs join. Without it the VM has one, on a
	// network of the host with MAAS's DHCP.
	// +optional
	Network *LXDNetworkConfig `json:"network,omitempty"`

	// tags that the VM gets in MAAS. Those that its host must carry are
	// spec.tags.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Tags []string `json:"tags,omitempty"`

	// domain of MAAS that the VM's name is in; empty: MAAS's default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Domain string `json:"domain,omitempty"`
}

// LXDStorageConfig is the root disk of a VM, and others.
type LXDStorageConfig struct {
	// size of the root disk: a number of GB of 10⁹ bytes, or a quantity such as
	// "60GB", "60Gi" or "1TB". Empty: minDiskSize, or 60 GB.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`

	// pool of the host that the root disk is in; empty: the host's default.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Pool string `json:"pool,omitempty"`

	// disks of the VM besides the root disk.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Disks []LXDDisk `json:"disks,omitempty"`
}

// LXDDisk is a disk of a VM besides its root disk.
type LXDDisk struct {
	// size of the disk, as that of the root disk.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size"`

	// pool of the host that the disk is in; empty: the host's default.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Pool string `json:"pool,omitempty"`
}

// LXDNetworkConfig says what the NICs of a VM join.
type LXDNetworkConfig struct {
	// bridge of the host that NICs join which say nothing else.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	Bridge string `json:"bridge,omitempty"`

	// devices are names of NICs, such as eth0 and eth1, that all join bridge. It
	// is the short form of interfaces.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=15
	Devices []string `json:"devices,omitempty"`

	// interfaces of the VM, in the order in which it sees them. It boots from
	// the first one.
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
	// LinkAuto is an address that MAAS picks when it deploys, and configures.
	LinkAuto LinkMode = "auto"
	// LinkDHCP is the same as LinkAuto for a VM: MAAS gives each of its NICs an
	// automatic link once it has commissioned it, and no other one is set.
	LinkDHCP LinkMode = "dhcp"
	// LinkStatic is a given address.
	LinkStatic LinkMode = "static"
	// LinkUp is no address, which a VM cannot have: it is refused.
	LinkUp LinkMode = "link_up"
)

// LXDInterface is a NIC of a VM.
type LXDInterface struct {
	// name of the NIC, such as eth0.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Name string `json:"name"`

	// bridge of the host that the NIC joins; empty: network.bridge, or one on
	// the subnet or VLAN.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	Bridge string `json:"bridge,omitempty"`

	// subnet of MAAS that the NIC is in, by name or CIDR.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Subnet string `json:"subnet,omitempty"`

	// vlan that the NIC is in, by its number in MAAS; 0 is the untagged one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4094
	VLAN *int32 `json:"vlan,omitempty"`

	// mode is how MAAS gives the NIC its address: auto, which MAAS picks when it
	// deploys, or static, which is ip. dhcp is taken and behaves as auto: MAAS
	// gives each NIC of a VM an automatic link. link_up (no address) is refused
	// for that reason. Empty: static where there is an ip, else auto.
	// +optional
	Mode LinkMode `json:"mode,omitempty"`

	// ip is the NIC's address, with mode static. That of the first NIC may be
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

	// vmConfig says more of the VM.
	// +optional
	VMConfig *VMConfig `json:"vmConfig,omitempty"`
}

// VMConfig is an older way to describe a VM.
type VMConfig struct {
	// diskSize is the size of the root disk in GB of 10⁹ bytes. It says the same
	// as lxdConfig.storage.size.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	DiskSize *int `json:"diskSize,omitempty"`

	// storagePool of the host that the root disk is in. It says the same as
	// lxdConfig.storage.pool.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	StoragePool string `json:"storagePool,omitempty"`

	// network is the subnet of MAAS that the VM's NIC is in, by name or CIDR;
	// of several, divided by commas, each gets a NIC: eth0, eth1 and so on.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Network string `json:"network,omitempty"`

	// interfaceLinkModes is how MAAS gives NICs their addresses, by their names,
	// as mode of lxdConfig.network.interfaces does: auto, dhcp (the same), static
	// or link_up (refused).
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	InterfaceLinkModes map[string]LinkMode `json:"interfaceLinkModes,omitempty"`

	// autoStart has no effect: MAAS switches a machine on when it deploys it,
	// and off when it releases it.
	// +optional
	AutoStart *bool `json:"autoStart,omitempty"`
}
