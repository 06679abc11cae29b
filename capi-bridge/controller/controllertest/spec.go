package controllertest

import (
	"k8s.io/utils/ptr"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// With is a spec with a change.
func With(spec infrav1.MaasMachineSpec, change func(*infrav1.MaasMachineSpec)) infrav1.MaasMachineSpec {
	change(&spec)
	return spec
}

// VMMachine is a VM's spec.
func VMMachine() infrav1.MaasMachineSpec {
	return infrav1.MaasMachineSpec{
		ProvisioningMode: ptr.To(infrav1.ProvisioningModeLXD), Image: "ubuntu/noble",
		MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096), MinDiskSizeInGB: ptr.To(20),
	}
}

// MetalMachine is the spec of bare metal.
func MetalMachine() infrav1.MaasMachineSpec {
	return infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096)}
}
