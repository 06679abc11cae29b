package controllertest

import (
	"k8s.io/utils/ptr"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// WithChange returns a copy of a spec with a change.
func WithChange(spec infrav1.MaasMachineSpec, change func(*infrav1.MaasMachineSpec)) infrav1.MaasMachineSpec {
	change(&spec)
	return spec
}

// VMMachineSpec returns the spec of a VM.
func VMMachineSpec() infrav1.MaasMachineSpec {
	return infrav1.MaasMachineSpec{
		ProvisioningMode: ptr.To(infrav1.ProvisioningModeLXD), Image: "ubuntu/noble",
		MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096), MinDiskSizeInGB: ptr.To(20),
	}
}

// MetalMachineSpec returns the spec of a bare-metal machine.
func MetalMachineSpec() infrav1.MaasMachineSpec {
	return infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096)}
}
