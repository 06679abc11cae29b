package v1beta1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resolveVM describes a VM besides its size. It also sets the cores of m from
// pinned cores.
func (s *MaasMachineSpec) resolveVM(at *field.Path, m *ResolvedMachine) (*ResolvedVM, field.ErrorList) {
	config, older := valueOrZero(s.LXDConfig), VMConfig{}
	if s.LXD != nil {
		older = valueOrZero(s.LXD.VMConfig)
	}
	vm := &ResolvedVM{
		Project: valueOrZero(config.Project), Profile: valueOrZero(config.Profile),
		PinnedCores: slices.Clone(config.PinnedCores), HugePages: config.HugePages,
		Tags: slices.Clone(config.Tags), Domain: config.Domain,
	}
	var errs, more field.ErrorList
	vm.Host, errs = agreedValue(at, "lxdConfig.vmHost", valueOrZero(config.VMHost), "parent", valueOrZero(s.Parent))
	errs = append(errs, m.resolveVMSize(at, config)...)
	vm.Disks, more = s.resolveDisks(at, valueOrZero(config.Storage), older)
	errs = append(errs, more...)
	vm.Interfaces, more = resolveInterfaces(at, valueOrZero(config.Network), older, m)
	return vm, append(errs, more...)
}

// resolveVMSize checks the cores and the memory of a VM.
func (m *ResolvedMachine) resolveVMSize(at *field.Path, config LXDConfig) field.ErrorList {
	var errs field.ErrorList
	switch pinned := len(config.PinnedCores); {
	case pinned > 0 && m.Cores != 0 && m.Cores != pinned:
		errs = append(errs, field.Invalid(at.Child("minCPU"), m.Cores,
			fmt.Sprintf("contradicts the %d cores of lxdConfig.pinnedCores; leave it out, or make it %d", pinned, pinned)))
	case pinned > 0:
		m.Cores = pinned
	case m.Cores < 1:
		errs = append(errs, field.Invalid(at.Child("minCPU"), m.Cores, "a VM gets exactly this number of cores; give at least 1, or set lxdConfig.pinnedCores"))
	}
	if m.MemoryMiB < MinVMMemoryMiB {
		errs = append(errs, field.Invalid(at.Child("minMemory"), m.MemoryMiB,
			fmt.Sprintf("a VM gets exactly this memory, in MiB; give at least %d, because MAAS refuses less", MinVMMemoryMiB)))
	}
	return errs
}

// resolveDisks returns the disks of a VM, the root disk first.
func (s *MaasMachineSpec) resolveDisks(at *field.Path, storage LXDStorageConfig, older VMConfig) ([]ResolvedDisk, field.ErrorList) {
	var errs field.ErrorList
	below := at.Child("lxdConfig", "storage")
	size := func(at *field.Path, text string) int64 {
		gb, err := ParseSizeGB(text)
		if err != nil {
			errs = append(errs, field.Invalid(at, text, err.Error()))
		}
		return gb
	}
	root := ResolvedDisk{SizeGB: int64(valueOrZero(older.DiskSize))}
	if storage.Size != "" {
		gb := size(below.Child("size"), storage.Size)
		if root.SizeGB != 0 && gb != 0 && gb != root.SizeGB {
			errs = append(errs, contradictionError(at, "lxd.vmConfig.diskSize", fmt.Sprint(root.SizeGB), "lxdConfig.storage.size", storage.Size))
		}
		root.SizeGB = gb
	}
	least := int64(valueOrZero(s.MinDiskSizeInGB))
	if root.SizeGB == 0 && least == 0 {
		root.SizeGB = DefaultVMDiskGB
	}
	root.SizeGB = max(root.SizeGB, least)
	pool, more := agreedValue(at, "lxdConfig.storage.pool", storage.Pool, "lxd.vmConfig.storagePool", older.StoragePool)
	root.Pool, errs = pool, append(errs, more...)

	disks := []ResolvedDisk{root}
	for i, d := range storage.Disks {
		disks = append(disks, ResolvedDisk{SizeGB: size(below.Child("disks").Index(i).Child("size"), d.Size), Pool: d.Pool})
	}
	return disks, errs
}

// agreedValue returns the value of two fields that mean the same.
func agreedValue(at *field.Path, name, text, otherName, other string) (string, field.ErrorList) {
	switch {
	case text == "" || text == other:
		return other, nil
	case other == "":
		return text, nil
	}
	return text, field.ErrorList{contradictionError(at, otherName, other, name, text)}
}

// contradictionError says that two fields have different values.
func contradictionError(at *field.Path, name, text, otherName, other string) *field.Error {
	return field.Invalid(at.Child(name), text, "contradicts "+otherName+" "+other+"; leave out one of them")
}
