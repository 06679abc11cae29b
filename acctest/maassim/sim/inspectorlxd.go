package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Overcommits lists where the instances of an LXD held more at once than its size times
// the over-commit ratio of that time. Each entry shows the worst moment: "host1: 20 cores
// held of 16". A test wants an empty list. Instances that a model or a test adds count,
// too.
func (wit *inspector) Overcommits() []string {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	out := []string{}
	for _, l := range slices.Concat(rest.SortedValues(wit.world.LXDs), wit.world.Wiped) {
		for _, what := range slices.Sorted(maps.Keys(l.ExcessByResource)) {
			out = append(out, fmt.Sprintf("%s: %d %s held of %d", l.Name, l.ExcessByResource[what].Held, what, l.ExcessByResource[what].Allowed))
		}
	}
	return out
}

// LXD is an LXD that listens: one of the model, or one that the user-data of a deployed
// machine set up.
type LXD struct {
	// Name is the name of the model's first host on it, or its machine's hostname.
	Name string `json:"name"`
	// Address is host:port.
	Address string `json:"address"`
	Version string `json:"version"`
	// Condition tells how it answers. An LXD whose machine is off or in rescue mode is
	// unreachable.
	Condition Condition `json:"condition"`
	// MachineID is the system id of the machine that it runs on, or empty if MAAS knows
	// none.
	MachineID string `json:"machine_id,omitempty"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memory_mib"`
	// StoragePools with their sizes in bytes.
	StoragePools []StoragePoolModel `json:"storage_pools"`
	Projects     []string           `json:"projects"`
	// Subnets are the CIDRs of its bridges.
	Subnets []string `json:"subnets"`
	// Used is what its instances hold now, and Peak the most that they held at any time.
	Used ResourceUse `json:"used"`
	Peak ResourceUse `json:"peak"`
	// Trusted are the certificates that it trusts.
	Trusted []TrustedCertificate `json:"trusted"`
	// Listening are the host:port where it serves its API. There are none if only
	// DialContext reaches it.
	Listening []string `json:"listening"`
	// Certificate is its server certificate, in PEM.
	Certificate string `json:"certificate"`
}

// ResourceUse is what all instances of an LXD hold, in all its projects, whether MAAS
// knows them or not.
type ResourceUse struct {
	Cores     int   `json:"cores"`
	MemoryMiB int64 `json:"memory_mib"`
	// HugePagesMiB is the memory in huge pages of all VMs that use them, also of those
	// that are off.
	HugePagesMiB int64            `json:"huge_pages_mib,omitempty"`
	PoolBytes    map[string]int64 `json:"pool_bytes"` // by storage pool
}

// TrustedCertificate is a certificate that an LXD trusts.
type TrustedCertificate struct {
	Certificate string `json:"certificate"` // PEM
	// Restricted limits it to Projects.
	Restricted bool     `json:"restricted,omitempty"`
	Projects   []string `json:"projects,omitempty"`
}

// LXDs are the current LXDs, sorted by address.
func (wit *inspector) LXDs() []LXD {
	wit.keeper.Lock()
	defer wit.keeper.Unlock()
	out := []LXD{}
	for _, l := range rest.SortedValues(wit.world.LXDs) {
		public := publicLXD(l)
		public.Listening = wit.lxds.listenAddresses(l)
		out = append(out, public)
	}
	return out
}

func publicLXD(l *world.LXD) LXD {
	out := LXD{
		Name: l.Name, Address: l.Address, Version: l.Version, Condition: Condition(l.EffectiveCondition()), Cores: l.Cores, MemoryMiB: l.MemoryMiB,
		StoragePools: []StoragePoolModel{}, Projects: rest.SortedValues(world.ProjectNames(l)), Subnets: []string{}, Trusted: []TrustedCertificate{},
	}
	if shown, err := l.EnsureIdentity(); err == nil {
		out.Certificate = shown.Certificate
	}
	for _, p := range l.Pools {
		out.StoragePools = append(out.StoragePools, StoragePoolModel(p))
	}
	out.Used, out.Peak = ResourceUse(l.CurrentUse()), ResourceUse(l.Peak)
	out.Peak.PoolBytes = maps.Clone(l.Peak.PoolBytes)
	if l.Metal != nil {
		out.MachineID = l.Metal.SystemID
	} else if l.HostMachine != nil {
		out.MachineID = l.HostMachine.SystemID
	}
	for _, n := range l.Subnets {
		out.Subnets = append(out.Subnets, n.CIDR.String())
	}
	for _, t := range l.Trusted {
		if len(daemon.CertificatesIn(t.Certificate)) == 0 {
			continue // it replaces the key of a VM host of the model
		}
		out.Trusted = append(out.Trusted, TrustedCertificate{Certificate: t.Certificate, Restricted: t.Restricted, Projects: slices.Clone(t.Projects)})
	}
	return out
}
