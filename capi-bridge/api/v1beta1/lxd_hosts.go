package v1beta1

// NICType is how VMs are attached to the network of their host.
// +kubebuilder:validation:Enum=bridge;macvlan
type NICType string

// The NIC types.
const (
	// NICTypeBridge puts VMs on a bridge of the host.
	NICTypeBridge NICType = "bridge"
	// NICTypeMacvlan puts VMs beside a NIC of the host, which they then cannot
	// talk to.
	NICTypeMacvlan NICType = "macvlan"
)

// LXDHostConfig says how the bare-metal machines of a cluster become LXD
// hosts.
type LXDHostConfig struct {
	// enabled makes LXD hosts of the cluster's bare-metal machines.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// zone of MAAS that the hosts are registered in; empty: that of the machine.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Zone string `json:"zone,omitempty"`

	// resourcePool of MAAS that the hosts are registered in; empty: that of the
	// machine.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	ResourcePool string `json:"resourcePool,omitempty"`

	// storageBackend is how the hosts' storage pool stores; empty: zfs.
	// +optional
	// +kubebuilder:validation:Enum=zfs;btrfs;lvm;dir
	StorageBackend string `json:"storageBackend,omitempty"`

	// storageSize is the size of the hosts' storage pool: a number of GB of 10⁹
	// bytes, or a quantity such as "500GB" or "1TB"; empty: 50 GB. A pool of
	// the backend dir has none. "50" beside skipNetworkUpdate is what CAPMaaS's
	// CRD stored by default and CAPMaaS never read: then the pool gets what it
	// made there, 80 % of the machine's first disk.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	StorageSize string `json:"storageSize,omitempty"`

	// nicType is how VMs are attached to the host's network; empty: bridge.
	// +optional
	NICType NICType `json:"nicType,omitempty"`

	// nicParent is the bridge that VMs join (nicType bridge; empty:
	// networkBridge), or the NIC that they are put beside (macvlan, which needs
	// it), by the name that all machines of the cluster have it by.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	NICParent string `json:"nicParent,omitempty"`

	// networkBridge is the bridge that VMs join; empty: br0. It says the same as
	// nicParent with nicType bridge.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	NetworkBridge string `json:"networkBridge,omitempty"`

	// skipNetworkUpdate leaves LXD's own networks as they are, which the bridge
	// does in any case. It is accepted for objects of CAPMaaS, whose CRD stored
	// true. The bridge that VMs join is made in MAAS either way, on the NIC that
	// the machine boots from, before the machine is deployed.
	// +optional
	SkipNetworkUpdate *bool `json:"skipNetworkUpdate,omitempty"`
}
