package v1beta1

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Defaults of LXD hosts.
const (
	// DefaultStorageBackend is how their storage pool stores.
	DefaultStorageBackend = "zfs"
	// DefaultStorageGB is the size of their storage pool in GB of 10⁹ bytes.
	DefaultStorageGB = 50
	// DefaultBridge is the bridge that VMs join.
	DefaultBridge = "br0"
	// IncumbentStoragePercent is the part of a machine's disk that CAPMaaS made the
	// pool of, whatever storageSize said.
	IncumbentStoragePercent = 80
	incumbentStorageSize    = "50"
)

// ResolvedHosts is what the bare-metal machines of a cluster become, in one
// way.
//
// +kubebuilder:object:generate=false
type ResolvedHosts struct {
	// Zone and ResourcePool that a host is registered in; empty: those of the
	// machine.
	Zone         string
	ResourcePool string
	// StorageBackend of the pool: zfs, btrfs, lvm or dir.
	StorageBackend string
	// StorageGB is the size of the pool in GB of 10⁹ bytes; 0 with dir, and with
	// StoragePercent.
	StorageGB int64
	// StoragePercent is the size of the pool as a part of the machine's first disk;
	// 0: StorageGB is its size.
	StoragePercent int
	// NICType is how VMs are attached.
	NICType NICType
	// Parent is the bridge, which is made in MAAS where it is not there, or with
	// macvlan the NIC; never empty.
	Parent string
}

// ResolveHosts makes one thing of the fields that say how the cluster's
// bare-metal machines become LXD hosts; nil: they do not. It changes nothing
// of the spec. The errors name the fields below at that contradict each other
// or cannot be, and what to do about it; then the answer must not be used.
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
		h.StorageGB = 0 // it takes what its file system has
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

// isStoredByIncumbent tells that nobody chose the size of the pool: CAPMaaS's CRD
// stored "50" beside skipNetworkUpdate in every object, and CAPMaaS never read it.
func (c LXDHostConfig) isStoredByIncumbent() bool {
	return c.StorageSize == incumbentStorageSize && c.SkipNetworkUpdate != nil
}

// resolveMacvlan puts VMs beside a NIC. Its name is needed before there is a machine that
// could be asked: it is part of the machine's first boot.
func (h *ResolvedHosts) resolveMacvlan(at *field.Path, config LXDHostConfig) field.ErrorList {
	var errs field.ErrorList
	if config.NetworkBridge != "" {
		errs = append(errs, field.Forbidden(at.Child("networkBridge"), "macvlan has no bridge; leave it out, or take nicType: bridge"))
	}
	if h.Parent = config.NICParent; h.Parent == "" {
		errs = append(errs, field.Required(at.Child("nicParent"),
			"macvlan puts VMs beside a NIC; name that of the machines, such as eno1, or take nicType: bridge"))
	}
	return errs
}
