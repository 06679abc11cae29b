package v1beta1

// NICType is how VMs are attached to the network of their host.
// +kubebuilder:validation:Enum=bridge;macvlan
type NICType string

// The NIC types.
const (
	// NICTypeBridge puts VMs on a bridge of the host.
	NICTypeBridge NICType = "bridge"
	// NICTypeMacvlan puts VMs beside a NIC of the host. The VMs cannot talk to
	// the host then.
	NICTypeMacvlan NICType = "macvlan"
)

// LXDHostConfig says how the bare-metal machines of a cluster become LXD
// hosts.
type LXDHostConfig struct {
	// enabled turns the cluster's bare-metal machines into LXD hosts.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// zone is the availability zone in MAAS that the hosts are registered in.
	// Empty: that of the machine.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Zone string `json:"zone,omitempty"`

	// resourcePool is the resource pool in MAAS that the hosts are registered
	// in. Empty: that of the machine.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ResourcePool string `json:"resourcePool,omitempty"`

	// storageBackend is the driver of the hosts' storage pool. Empty: zfs.
	// +optional
	// +kubebuilder:validation:Enum=zfs;btrfs;lvm;dir
	StorageBackend string `json:"storageBackend,omitempty"`

	// storageSize is the size of the hosts' storage pool: a number of GB of 10⁹
	// bytes, or a quantity such as "500GB" or "1TB". Empty: 50 GB. A pool of
	// the backend dir has no size. CAPMaaS's CRD stored "50" beside
	// skipNetworkUpdate by default, and CAPMaaS never read it. In that case the
	// pool gets what CAPMaaS made: 80 % of the machine's first disk.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	StorageSize string `json:"storageSize,omitempty"`

	// nicType is how VMs are attached to the host's network. Empty: bridge.
	// +optional
	NICType NICType `json:"nicType,omitempty"`

	// nicParent depends on nicType. With bridge it is the bridge that VMs join;
	// empty means networkBridge. With macvlan it is the NIC that VMs are put
	// beside, and it is required. All machines of the cluster must have it
	// under this name.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	NICParent string `json:"nicParent,omitempty"`

	// networkBridge is the bridge that VMs join. Empty: br0. It means the same
	// as nicParent with nicType bridge.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	NetworkBridge string `json:"networkBridge,omitempty"`

	// skipNetworkUpdate has no effect: LXD's own networks always stay as they
	// are. It is accepted for objects of CAPMaaS, whose CRD stored true. The
	// manager makes the bridge for VMs in MAAS either way, before the machine
	// is deployed. The bridge is on the NIC that the machine boots from.
	// +optional
	SkipNetworkUpdate *bool `json:"skipNetworkUpdate,omitempty"`
}
