package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Defaults of LXD hosts.
const (
	// DefaultStorageBackend is the driver of their storage pool.
	DefaultStorageBackend = "zfs"
	// DefaultStorageGB is the size of their storage pool in GB of 10⁹ bytes.
	DefaultStorageGB = 50
	// DefaultBridge is the bridge that VMs join.
	DefaultBridge = "br0"
	// IncumbentStoragePercent is the part of a machine's disk that CAPMaaS gave
	// to the pool, whatever storageSize said.
	IncumbentStoragePercent = 80
	incumbentStorageSize    = "50"
)

// ResolvedHosts says how the bare-metal machines of a cluster become LXD hosts,
// with one field for each value.
//
// +kubebuilder:object:generate=false
type ResolvedHosts struct {
	// Zone and ResourcePool that a host is registered in; empty: those of the
	// machine.
	Zone         string
	ResourcePool string
	// StorageBackend of the pool: zfs, btrfs, lvm or dir.
	StorageBackend string
	// StorageGB is the size of the pool in GB of 10⁹ bytes. It is 0 with dir
	// and with StoragePercent.
	StorageGB int64
	// StoragePercent is the size of the pool as a part of the machine's first
	// disk. With 0, StorageGB is the size.
	StoragePercent int
	// NICType is how VMs are attached.
	NICType NICType
	// Parent is the bridge, or with macvlan the NIC; never empty. A missing
	// bridge is made in MAAS.
	Parent string
}

// ResolveHosts combines the fields that say how the cluster's bare-metal
// machines become LXD hosts. It returns nil where they do not. It does not
// change the spec. The errors name fields below at that contradict each other
// or cannot be, with a way out. With errors, do not use the result.
func (s *MaasClusterSpec) ResolveHosts(at *field.Path) (*ResolvedHosts, field.ErrorList) {
	config := valueOrZero(s.LXDConfig)
	below := at.Child("lxdConfig")
	if s.LXDControlPlaneCluster != nil && config.Enabled != nil && *s.LXDControlPlaneCluster != *config.Enabled {
		return nil, field.ErrorList{field.Invalid(at.Child("lxdControlPlaneCluster"), *s.LXDControlPlaneCluster,
			"contradicts lxdConfig.enabled; leave out one of them")}
	}
	if !valueOrZero(s.LXDControlPlaneCluster) && !valueOrZero(config.Enabled) {
		return nil, nil
	}
	hosts := &ResolvedHosts{Zone: config.Zone, ResourcePool: config.ResourcePool}
	errs := hosts.resolveStorage(below, config)
	return hosts, append(errs, hosts.resolveNetwork(below, config)...)
}

// resolveStorage says how the storage pool stores.
func (h *ResolvedHosts) resolveStorage(at *field.Path, config LXDHostConfig) field.ErrorList {
	h.StorageBackend, h.StorageGB = config.StorageBackend, DefaultStorageGB
	if h.StorageBackend == "" {
		h.StorageBackend = DefaultStorageBackend
	}
	if h.StorageBackend == "dir" {
		h.StorageGB = 0 // it takes the space of its file system
		return nil
	}
	if config.StorageSize == "" {
		return nil
	}
	if config.isStoredByIncumbent() {
		h.StorageGB, h.StoragePercent = 0, IncumbentStoragePercent
		return nil
	}
	gb, err := ParseSizeGB(config.StorageSize)
	if err != nil {
		return field.ErrorList{field.Invalid(at.Child("storageSize"), config.StorageSize, err.Error())}
	}
	h.StorageGB = gb
	return nil
}

// resolveNetwork says how VMs are attached to the network of the host.
func (h *ResolvedHosts) resolveNetwork(at *field.Path, config LXDHostConfig) field.ErrorList {
	if h.NICType = config.NICType; h.NICType == "" {
		h.NICType = NICTypeBridge
	}
	if h.NICType == NICTypeMacvlan {
		return h.resolveMacvlan(at, config)
	}
	parent, errs := agreedValue(at, "networkBridge", config.NetworkBridge, "nicParent", config.NICParent)
	if parent == "" {
		parent = DefaultBridge
	}
	h.Parent = parent
	return errs
}

// isStoredByIncumbent reports whether nobody chose the size of the pool.
// CAPMaaS's CRD stored "50" beside skipNetworkUpdate in every object, and
// CAPMaaS never read it.
func (c LXDHostConfig) isStoredByIncumbent() bool {
	return c.StorageSize == incumbentStorageSize && c.SkipNetworkUpdate != nil
}

// resolveMacvlan puts VMs beside a NIC. The NIC's name is needed before there
// is a machine to ask: it is part of the machine's first boot.
func (h *ResolvedHosts) resolveMacvlan(at *field.Path, config LXDHostConfig) field.ErrorList {
	var errs field.ErrorList
	if config.NetworkBridge != "" {
		errs = append(errs, field.Forbidden(at.Child("networkBridge"), "macvlan has no bridge; leave it out, or set nicType: bridge"))
	}
	if h.Parent = config.NICParent; h.Parent == "" {
		errs = append(errs, field.Required(at.Child("nicParent"),
			"macvlan puts VMs beside a NIC; name the NIC of the machines, such as eno1, or set nicType: bridge"))
	}
	return errs
}
