package view

import (
	"cmp"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// testNames are MAAS's names of the script statuses that occur here (enum: SCRIPT_STATUS).
var testNames = map[int]string{-1: "Unknown", 0: "Pending", 1: "Running", 2: "Passed", 3: "Failed"}

// hardwareKeys are the keys of hardware_info. A VM has no known values.
var hardwareKeys = []string{
	"system_vendor", "system_product", "system_family", "system_version", "system_sku", "system_serial", "cpu_model",
	"mainboard_vendor", "mainboard_product", "mainboard_serial", "mainboard_version", "mainboard_firmware_vendor",
	"mainboard_firmware_date", "mainboard_firmware_version", "chassis_vendor", "chassis_type", "chassis_serial", "chassis_version",
}

// Machine is the machine as an answer shows it.
func Machine(m *world.Machine) rest.Object {
	v := rest.Object{
		"system_id": m.SystemID, "hostname": m.Hostname, "fqdn": m.Hostname + "." + m.Domain.Name,
		"resource_uri": rest.URI("machines", m.SystemID),
		"node_type":    0, "node_type_name": "Machine",
		"status": int(m.Status), "status_name": m.Status.String(),
		"status_message": m.StatusEvent.Message(), "status_action": m.StatusEvent.Action(),
		"owner": ownerName(m), "owner_data": dataView(m), "workload_annotations": dataView(m),
		"description": m.Description, "tag_names": rest.NonNilList(m.Tags), "locked": m.Locked,
		"domain": Domain(m.Domain, m.World), "zone": Zone(m.Zone), "pool": Pool(m.Pool),
		"power_state": m.PowerState, "power_type": m.PowerType, "netboot": m.Netboot,
		"architecture": m.Architecture, "cpu_count": m.Cores, "cpu_speed": 0, "memory": m.MemoryMiB,
		"osystem": m.Osystem, "distro_series": m.Series, "hwe_kernel": rest.TextOrNull(m.Kernel),
		"min_hwe_kernel": m.MinKernel, "ephemeral_deploy": m.Ephemeral,
		"virtualmachine_id": rest.IDOrNull(m.VMID), "parent": parentView(m),
		"ip_addresses": rest.NonNilList(m.Addresses()), "default_gateways": m.Gateways(),
		"address_ttl": nil, "disable_ipv4": false, "hardware_uuid": nil, "swap_size": m.SwapSize,
		"enable_hw_sync": m.HardwareSync, "sync_interval": rest.IDOrNull(m.SyncInterval), "last_sync": nil, "next_sync": nil,
		"bios_boot_method": nil,
		"numanode_set":     []rest.Object{numaNode(m)},
	}
	if m.UEFI {
		v["bios_boot_method"] = "uefi"
	}
	if !m.LastSync.IsZero() {
		v["last_sync"], v["next_sync"] = formatTimestamp(m.LastSync), formatTimestamp(m.LastSync.Add(time.Duration(m.SyncInterval)*time.Second))
	}
	v["pod"] = nil
	if host := m.Host(); host != nil {
		v["pod"] = rest.Object{"id": host.ID, "name": host.Name, "resource_uri": rest.URI("pods", host.ID)}
	}
	viewScripts(m, v)
	viewStorage(m, v)
	viewNetwork(m, v)
	viewHardware(m, v)
	return v
}

// anonymousKeys are the fields that MAAS shows to a caller who enlists a machine without
// credentials (api/machines.py, DISPLAYED_ANON_MACHINE_FIELDS).
var anonymousKeys = []string{
	"system_id", "hostname", "domain", "fqdn", "architecture", "status", "power_type", "power_state", "zone",
	"status_action", "status_message", "status_name", "node_type", "resource_uri",
}

// AnonymousMachine is the machine as a caller without credentials sees it.
func AnonymousMachine(m *world.Machine) rest.Object {
	all, v := Machine(m), rest.Object{}
	for _, key := range anonymousKeys {
		v[key] = all[key]
	}
	return v
}

func formatTimestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000") }

func ownerName(m *world.Machine) any {
	if m.Owner == nil {
		return nil
	}
	return m.Owner.Name
}

func dataView(m *world.Machine) map[string]string {
	if m.OwnerData == nil {
		return map[string]string{}
	}
	return m.OwnerData
}

// numaNode is the machine's one NUMA node. It is empty until MAAS has commissioned the
// machine itself.
func numaNode(m *world.Machine) rest.Object {
	return rest.Object{"index": 0, "memory": m.NUMA.MemoryMiB, "cores": coreList(m), "hugepages_set": []rest.Object{}}
}

func coreList(m *world.Machine) []int {
	cores := make([]int, m.NUMA.Cores)
	for i := range cores {
		cores[i] = i
	}
	return cores
}

// parentView is the host machine of a VM. It is null if the host machine is newer than the
// VM, or is gone.
func parentView(m *world.Machine) any {
	if m.Parent == nil || m.World.Machines[m.Parent.SystemID] != m.Parent {
		return nil
	}
	id := m.Parent.SystemID
	return rest.Object{"system_id": id, "resource_uri": rest.URI("machines", id), "__incomplete__": true}
}

func viewScripts(m *world.Machine, v rest.Object) {
	v["current_commissioning_result_id"] = rest.IDOrNull(m.CommissioningSet)
	v["current_testing_result_id"] = rest.IDOrNull(m.TestingSet)
	v["current_installation_result_id"] = rest.IDOrNull(m.InstallationSet)
	for name, status := range map[string]int{
		"commissioning": m.CommissioningStatus, "testing": m.TestingStatus, "storage_test": m.TestingStatus,
		"cpu_test": -1, "memory_test": -1, "network_test": -1, "interface_test": -1, "other_test": -1,
	} {
		v[name+"_status"], v[name+"_status_name"] = status, testNames[status]
	}
}

func viewHardware(m *world.Machine, v rest.Object) {
	info := rest.Object{}
	for _, key := range hardwareKeys {
		info[key] = cmp.Or(m.HardwareInfo[key], "Unknown")
	}
	info["cpu_model"] = cmp.Or(m.CPUModel, m.HardwareInfo["cpu_model"], "Unknown")
	v["hardware_info"] = info
}
