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
	// DefaultVMDiskGB is the size of a root disk for which nothing is said, in
	// GB of 10⁹ bytes: that of older versions.
	DefaultVMDiskGB = 60
)

// ResolvedMachine is what a MaasMachineSpec asks for, in one way.
//
// +kubebuilder:object:generate=false
type ResolvedMachine struct {
	Mode ProvisioningMode
	// ProviderIDForm is how the providerID is to be written.
	ProviderIDForm providerid.Form
	// Image is what MAAS installs.
	Image string
	// FailureDomain is the availability zone, where the Machine names none;
	// empty: any.
	FailureDomain string
	// ResourcePool of the machine, or of the host of a VM; empty: any.
	ResourcePool string
	// Tags that the machine, or the host of a VM, must carry: all of them.
	Tags []string
	// Cores and MemoryMiB: the least ones of a machine, those of a VM.
	Cores     int
	MemoryMiB int64
	// MinDiskGB is the least size of a bare-metal machine's largest disk.
	MinDiskGB int64
	// InMemory leaves the disks alone.
	InMemory bool
	// WaitForStaticIP tells that there shall be a static address, and that it is
	// not known yet.
	WaitForStaticIP bool
	// StaticIP is the static address; the zero Addr: none.
	StaticIP netip.Addr
	// StaticSubnet is the subnet that StaticIP is in; the zero Prefix: the one
	// in MAAS that has it.
	StaticSubnet netip.Prefix
	// VM says more of a VM; nil: it is bare metal.
	VM *ResolvedVM
}

// ResolvedVM is what a VM is, besides its cores and memory.
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
	// Interfaces in the order in which the VM shall see them; none: one, as MAAS
	// gives it.
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

// Resolve makes one thing of the fields that say the same in different words.
// It changes nothing of the spec. The errors name the fields below at that
// contradict each other or cannot be, and what to do about it; then the
// answer must not be used.
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
		errs = append(errs, field.Required(at.Child("image"), `say what MAAS installs, such as "ubuntu/noble"`))
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

// statedMode is a field that says what a machine is made of.
type statedMode struct {
	field, text string
	mode        ProvisioningMode
}

// resolveMode is what the machine is made of, as the fields that say so agree on.
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

// statedModes are the fields that say what the machine is made of. A field that
// only refuses VMs says nothing where another asks for bare metal anyway.
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

// checkVMFields refuses what only a VM has. What older versions let stand beside
// lxd.enabled: false is passed over, as they did.
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

// valueOrZero is what the pointer points to, or nothing.
func valueOrZero[T any](of *T) T {
	if of == nil {
		var zero T
		return zero
	}
	return *of
}
