package machine

import (
	"cmp"
	"slices"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
)

// powerOn is MAAS's word for a machine that is switched on.
const powerOn = "on"

// recordObservation writes the observed machine into the status. A machine that
// somebody else has by now keeps the names and addresses that it had in the
// cluster. The cluster must not publish its new ones.
func (s reporter) recordObservation(seen observation) {
	m := s.MaasMachine
	status := &m.Status
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[ownership.SystemIDAnnotation] = seen.SystemID
	status.MachineState = ptr.To(infrav1.MachineState(seen.StatusName))
	status.MachinePowered = seen.PowerState == powerOn
	status.FailureDomain = seen.Zone
	if !s.isForeign(seen) {
		status.Hostname = ptr.To(seen.Hostname)
		status.Addresses = keepAddressOrder(status.Addresses, machineAddresses(seen.Machine))
	}
	mode := infrav1.ProvisioningModeBareMetal
	if s.Kind() == ownership.KindVM {
		mode = infrav1.ProvisioningModeLXD
		s.recordVMUsage(seen)
	}
	status.ProvisioningMode = &mode
}

// recordVMUsage writes the VM's share of its host into the status. Values that
// MAAS does not know at the moment stay.
func (s reporter) recordVMUsage(seen observation) {
	status := &s.MaasMachine.Status
	if seen.HostName != "" {
		status.LXDHost = ptr.To(seen.HostName)
	}
	if s.want.VM != nil && s.want.VM.Project != "" {
		status.LXDProject = ptr.To(s.want.VM.Project)
	}
	if seen.Cores == 0 {
		return
	}
	disk := int64(0)
	for _, d := range seen.Disks {
		disk += d.SizeGB
	}
	status.VMResourceUsage = &infrav1.VMResourceUsage{
		AllocatedCores: seen.Cores, AllocatedMemory: int(seen.MemoryMiB), AllocatedDisk: int(disk),
	}
}

// machineAddresses returns the addresses by which Cluster API knows a machine:
// its names, and each IP twice. The external one is for readers of older
// versions. The internal one is right for most networks of MAAS.
func machineAddresses(m engine.Machine) []clusterv1.MachineAddress {
	var all []clusterv1.MachineAddress
	add := func(kind clusterv1.MachineAddressType, address string) {
		if address != "" {
			all = append(all, clusterv1.MachineAddress{Type: kind, Address: address})
		}
	}
	add(clusterv1.MachineHostName, m.Hostname)
	add(clusterv1.MachineInternalDNS, m.FQDN)
	for _, ip := range m.IPAddresses {
		add(clusterv1.MachineExternalIP, ip)
		add(clusterv1.MachineInternalIP, ip)
	}
	return all
}

// keepAddressOrder keeps the former order of the same addresses. MAAS promises
// no order, and another order alone is not worth a write.
func keepAddressOrder(before, now []clusterv1.MachineAddress) []clusterv1.MachineAddress {
	sorted := func(list []clusterv1.MachineAddress) []clusterv1.MachineAddress {
		return slices.SortedFunc(slices.Values(list), func(a, b clusterv1.MachineAddress) int {
			return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Address, b.Address))
		})
	}
	if slices.Equal(sorted(before), sorted(now)) {
		return before
	}
	return now
}
