package v1beta1

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/maaslxd/maaslxd/engine/providerid"
)

// Sizes of a VM.
const (
	// MinVMMemoryMiB is the least memory that MAAS composes a VM with
	// (forms/pods.py, ComposeMachineForm).
	MinVMMemoryMiB = 1024
	// DefaultVMDiskGB is the size of a root disk where the spec names none, in
	// GB of 10⁹ bytes. Older versions used the same.
	DefaultVMDiskGB = 60
)

// ResolvedMachine is the machine that a MaasMachineSpec asks for, with one
// field for each value.
//
// +kubebuilder:object:generate=false
type ResolvedMachine struct {
	Mode ProvisioningMode
	// ProviderIDForm is the form in which the providerID is written.
	ProviderIDForm providerid.Form
	// Image is the image that MAAS installs.
	Image string
	// FailureDomain is the availability zone where the Machine names none;
	// empty: any.
	FailureDomain string
	// ResourcePool of the machine, or of the host of a VM; empty: any.
	ResourcePool string
	// Tags that the machine, or the host of a VM, must all carry.
	Tags []string
	// Cores and MemoryMiB are the least ones of a machine, and the exact ones
	// of a VM.
	Cores     int
	MemoryMiB int64
	// MinDiskGB is the least size of a bare-metal machine's largest disk.
	MinDiskGB int64
	// InMemory leaves the disks alone.
	InMemory bool
	// WaitForStaticIP is true where the machine needs a static address that is
	// not known yet.
	WaitForStaticIP bool
	// StaticIP is the static address; the zero Addr: none.
	StaticIP netip.Addr
	// StaticSubnet is the subnet of StaticIP. The zero Prefix means the subnet
	// in MAAS that has the address.
	StaticSubnet netip.Prefix
	// VM describes a VM; nil: the machine is bare metal.
	VM *ResolvedVM
}

// ResolvedVM describes a VM besides its cores and memory.
//
// +kubebuilder:object:generate=false
type ResolvedVM struct {
	Host        string // name, id or system id in MAAS; empty: one that fits
	Project     string
	Profile     string
	PinnedCores []int
	HugePages   bool
	// Disks, the root disk first.
	Disks []ResolvedDisk
	// Interfaces in the order in which the VM sees them. An empty list means
	// one NIC, as MAAS gives it.
	Interfaces []ResolvedInterface
	// Tags that the VM gets.
	Tags   []string
	Domain string
}

// ResolvedDisk is a disk of a VM.
//
// +kubebuilder:object:generate=false
type ResolvedDisk struct {
	SizeGB int64  // GB of 10⁹ bytes
	Pool   string // empty: the host's default
}

// ResolvedInterface is a NIC of a VM.
//
// +kubebuilder:object:generate=false
type ResolvedInterface struct {
	Name   string
	Bridge string     // of the host; empty: one on the subnet or VLAN
	Subnet string     // name or CIDR; empty: any on the bridge or VLAN
	VLAN   *int32     // number in MAAS; nil: that of the subnet
	Mode   LinkMode   // never empty
	IP     netip.Addr // with Mode static
}

// Resolve combines the fields that mean the same into one value each. It does
// not change the spec. The errors name fields below at that contradict each
// other or cannot be, with a way out. With errors, do not use the result.
func (s *MaasMachineSpec) Resolve(at *field.Path) (ResolvedMachine, field.ErrorList) {
	mode, form, errs := s.resolveMode(at)
	m := ResolvedMachine{
		Mode:           mode,
		ProviderIDForm: form,
		Image:          s.Image,
		FailureDomain:  valueOrZero(s.FailureDomain),
		ResourcePool:   valueOrZero(s.ResourcePool),
		Tags:           slices.Clone(s.Tags),
		Cores:          valueOrZero(s.MinCPU),
		MemoryMiB:      int64(valueOrZero(s.MinMemoryInMB)),
		InMemory:       s.DeployInMemory,
	}
	if strings.TrimSpace(s.Image) == "" {
		errs = append(errs, field.Required(at.Child("image"), `name the image that MAAS installs, such as "ubuntu/noble"`))
	}
	var more field.ErrorList
	m.StaticIP, m.StaticSubnet, more = s.StaticIP.resolve(at.Child("staticIP"))
	m.WaitForStaticIP = !m.StaticIP.IsValid() && !s.StaticIP.IsZero()
	errs = append(errs, more...)
	switch mode {
	case ProvisioningModeLXD:
		m.VM, more = s.resolveVM(at, &m)
	case ProvisioningModeBareMetal:
		m.MinDiskGB = int64(valueOrZero(s.MinDiskSizeInGB))
		more = s.checkVMFields(at)
	}
	return m, append(errs, more...)
}

// statedMode is a field that says whether a machine is bare metal or a VM.
type statedMode struct {
	field, text string
	mode        ProvisioningMode
}

// resolveMode returns the mode that all these fields agree on.
func (s *MaasMachineSpec) resolveMode(at *field.Path) (ProvisioningMode, providerid.Form, field.ErrorList) {
	said := s.statedModes()
	if len(said) == 0 {
		return ProvisioningModeBareMetal, providerid.BareMetal, nil
	}
	mode, form := said[0].mode, providerid.BareMetal
	for _, other := range said[1:] {
		if other.mode != mode {
			return mode, form, field.ErrorList{field.Forbidden(at.Child(other.field),
				other.text+" contradicts "+said[0].text+"; leave out one of them")}
		}
	}
	if mode == ProvisioningModeLXD {
		form = providerid.LXD
	}
	if mode == ProvisioningModeLXD && len(said) == 1 && said[0].field == "lxd" {
		form = providerid.LegacyLXD
	}
	if s.ProvisioningMode != nil && mode != ProvisioningModeLXD && mode != ProvisioningModeBareMetal {
		return mode, form, field.ErrorList{field.NotSupported(at.Child("provisioningMode"), mode,
			[]ProvisioningMode{ProvisioningModeBareMetal, ProvisioningModeLXD})}
	}
	return mode, form, nil
}

// statedModes returns the fields that say whether the machine is bare metal or
// a VM. A field that only refuses VMs does not count where another one asks for
// bare metal.
func (s *MaasMachineSpec) statedModes() []statedMode {
	var all []statedMode
	if s.ProvisioningMode != nil {
		all = append(all, statedMode{"provisioningMode", "provisioningMode " + string(*s.ProvisioningMode), *s.ProvisioningMode})
	}
	flag := func(name, text string, on *bool) {
		switch {
		case on == nil:
		case *on:
			all = append(all, statedMode{name, text + ": true", ProvisioningModeLXD})
		default:
			all = append(all, statedMode{name, text + ": false", ProvisioningModeBareMetal})
		}
	}
	flag("dynamicLXD", "dynamicLXD", s.DynamicLXD)
	if s.LXD != nil {
		flag("lxd", "lxd.enabled", s.LXD.Enabled)
	}
	return all
}

// checkVMFields refuses fields that only a VM can have. Older versions accepted
// them beside lxd.enabled: false, so they pass there.
func (s *MaasMachineSpec) checkVMFields(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	const hint = "only a VM has it; set provisioningMode: lxd, or leave it out"
	if s.LXDConfig != nil {
		errs = append(errs, field.Forbidden(at.Child("lxdConfig"), hint))
	}
	if valueOrZero(s.Parent) != "" {
		errs = append(errs, field.Forbidden(at.Child("parent"), hint))
	}
	return errs
}

// valueOrZero returns the value behind the pointer, or the zero value.
func valueOrZero[T any](of *T) T {
	if of == nil {
		var zero T
		return zero
	}
	return *of
}
