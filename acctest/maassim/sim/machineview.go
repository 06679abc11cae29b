package sim

import "fmt"

// testNames are MAAS's names of script statuses (enum: SCRIPT_STATUS), as far
// as they occur here.
var testNames = map[int]string{-1: "Unknown", 0: "Pending", 1: "Running", 2: "Passed", 3: "Failed"}

// hardwareKeys are the parts of hardware_info: all unknown, for a VM.
var hardwareKeys = []string{
	"system_vendor", "system_product", "system_family", "system_version", "system_sku", "system_serial", "cpu_model",
	"mainboard_vendor", "mainboard_product", "mainboard_serial", "mainboard_version", "mainboard_firmware_vendor",
	"mainboard_firmware_date", "mainboard_firmware_version", "chassis_vendor", "chassis_type", "chassis_serial", "chassis_version",
}

// view is the machine as an answer shows it.
func (m *machine) view() object {
	v := object{
		"system_id": m.systemID, "hostname": m.hostname, "fqdn": m.hostname + "." + m.domain.name,
		"resource_uri": uri("machines", m.systemID),
		"node_type":    0, "node_type_name": "Machine",
		"status": int(m.status), "status_name": m.status.String(),
		"status_message": m.message, "status_action": m.action,
		"owner": m.ownerName(), "owner_data": m.data(), "workload_annotations": m.data(),
		"description": m.description, "tag_names": list(m.tags), "locked": m.locked,
		"domain": m.domain.view(m.w), "zone": m.zone.view(), "pool": m.pool.view(),
		"power_state": m.powerState, "power_type": m.powerType, "netboot": m.netboot,
		"architecture": m.architecture, "cpu_count": m.cores, "cpu_speed": 0, "memory": m.memoryMiB,
		"osystem": m.osystem, "distro_series": m.series, "hwe_kernel": textOrNull(m.kernel),
		"min_hwe_kernel": m.minKernel, "ephemeral_deploy": m.ephemeral,
		"virtualmachine_id": idOrNull(m.vmID), "parent": m.parentView(),
		"ip_addresses": list(m.addresses()), "default_gateways": m.gateways(),
		"address_ttl": nil, "disable_ipv4": false, "hardware_uuid": nil, "swap_size": m.swapSize,
		"enable_hw_sync": false, "sync_interval": nil, "last_sync": nil, "next_sync": nil,
		"bios_boot_method": nil,
		"numanode_set":     []object{{"index": 0, "memory": m.memoryMiB, "cores": m.coreList(), "hugepages_set": []object{}}},
	}
	if m.uefi {
		v["bios_boot_method"] = "uefi"
	}
	v["pod"] = nil
	if host := m.host(); host != nil {
		v["pod"] = object{"id": host.id, "name": host.name, "resource_uri": uri("pods", host.id)}
	}
	m.viewScripts(v)
	m.viewStorage(v)
	m.viewNetwork(v)
	m.viewHardware(v)
	return v
}

func (m *machine) ownerName() any {
	if m.owner == nil {
		return nil
	}
	return m.owner.name
}

func (m *machine) data() map[string]string {
	if m.ownerData == nil {
		return map[string]string{}
	}
	return m.ownerData
}

func (m *machine) coreList() []int {
	cores := make([]int, m.cores)
	for i := range cores {
		cores[i] = i
	}
	return cores
}

// parentView is the host machine of a VM, unless it came later or has gone.
func (m *machine) parentView() any {
	if m.parent == nil || m.w.machines[m.parent.systemID] != m.parent {
		return nil
	}
	id := m.parent.systemID
	return object{"system_id": id, "resource_uri": uri("machines", id), "__incomplete__": true}
}

func (m *machine) viewScripts(v object) {
	v["current_commissioning_result_id"] = idOrNull(m.commissioning)
	v["current_testing_result_id"] = idOrNull(m.testing)
	v["current_installation_result_id"] = idOrNull(m.installing)
	for name, status := range map[string]int{
		"commissioning": m.commissioningStatus, "testing": m.testingStatus, "storage_test": m.testingStatus,
		"cpu_test": -1, "memory_test": -1, "network_test": -1, "interface_test": -1, "other_test": -1,
	} {
		v[name+"_status"], v[name+"_status_name"] = status, testNames[status]
	}
}

func (m *machine) viewHardware(v object) {
	info := object{}
	for _, key := range hardwareKeys {
		info[key] = "Unknown"
	}
	info["cpu_model"] = or(m.cpuModel, "Unknown")
	v["hardware_info"] = info
}

func (m *machine) viewStorage(v object) {
	disks, total := m.diskViews(), int64(0)
	for _, d := range m.disks {
		total += d.sizeBytes
	}
	v["storage"] = float(float64(total) / 1e6)
	v["blockdevice_set"], v["physicalblockdevice_set"] = disks, disks
	v["boot_disk"] = nil
	if len(disks) > 0 {
		v["boot_disk"] = disks[0]
	}
	for _, name := range []string{"virtualblockdevice_set", "volume_groups", "raids", "bcaches", "cache_sets", "special_filesystems"} {
		v[name] = []object{}
	}
}

func (m *machine) diskViews() []object {
	views, wiped := []object{}, in(m.status, StatusReleasing, StatusFailedReleasing)
	for _, d := range m.disks {
		views = append(views, d.view(m.systemID, wiped))
	}
	return views
}

const (
	// allotment is the unit in which MAAS's storage layouts cut disks.
	allotment = 4 << 20
	// efiBytes is the EFI partition of the flat layout.
	efiBytes = 512 << 20
)

// usable is what the flat layout can cut from a disk.
func usable(sizeBytes int64) int64 {
	return max(((sizeBytes-(1<<20))/allotment-1)*allotment, 0)
}

// view shows the disk; on a wiped one the partitions have no file systems.
func (d *disk) view(systemID string, wiped bool) object {
	v := object{
		"id": d.id, "system_id": systemID, "name": d.name, "type": "physical",
		"resource_uri": fmt.Sprintf("%snodes/%s/blockdevices/%d/", apiRoot, systemID, d.id),
		"path":         "/dev/disk/by-dname/" + d.name, "id_path": d.idPath,
		"model": d.model, "serial": d.serial, "size": d.sizeBytes, "block_size": 512,
		"tags": list(d.tags), "storage_pool": textOrNull(d.storagePool),
		"firmware_version": textOrNull(d.firmware), "numa_node": 0, "uuid": nil, "filesystem": nil,
		"used_size": int64(0), "available_size": usable(d.sizeBytes), "used_for": "Unused",
		"partition_table_type": nil, "partitions": []object{},
	}
	if len(d.partitions) > 0 {
		v["partition_table_type"] = "GPT"
		v["used_for"] = fmt.Sprintf("GPT partitioned with %d partitions", len(d.partitions))
		v["available_size"] = int64(0)
		v["used_size"] = usable(d.sizeBytes) + 5<<20
		v["partitions"] = d.partitionViews(systemID, wiped)
	}
	return v
}

func (d *disk) partitionViews(systemID string, wiped bool) []object {
	var views []object
	for i, p := range d.partitions {
		v := object{
			"id": p.id, "system_id": systemID, "device_id": d.id, "type": "partition",
			"resource_uri": fmt.Sprintf("%snodes/%s/blockdevices/%d/partition/%d", apiRoot, systemID, d.id, p.id),
			"path":         fmt.Sprintf("/dev/disk/by-dname/%s-part%d", d.name, i+1),
			"size":         p.sizeBytes, "bootable": p.bootable, "tags": []string{}, "uuid": p.partUUID,
			"used_for": fmt.Sprintf("%s formatted filesystem mounted at %s", p.fstype, p.mount),
			"filesystem": object{"fstype": p.fstype, "label": p.label, "uuid": p.filesystemUID,
				"mount_point": p.mount, "mount_options": nil},
		}
		if wiped {
			v["used_for"], v["filesystem"] = "Unused", nil
		}
		views = append(views, v)
	}
	return views
}

func (m *machine) viewNetwork(v object) {
	nics := m.nicViews()
	v["interface_set"], v["boot_interface"] = nics, nil
	if len(nics) > 0 {
		v["boot_interface"] = nics[0]
	}
}

func (m *machine) nicViews() []object {
	views := []object{}
	for _, n := range m.nics {
		views = append(views, m.nicView(n))
	}
	return views
}

func (m *machine) nicView(n *nic) object {
	v := object{
		"id": n.id, "system_id": m.systemID, "name": n.name, "type": n.kind, "mac_address": n.mac,
		"resource_uri": fmt.Sprintf("%snodes/%s/interfaces/%d/", apiRoot, m.systemID, n.id),
		"vlan":         nil, "numa_node": 0, "enabled": true, "link_connected": true,
		"interface_speed": 0, "link_speed": 0, "sriov_max_vf": 0, "effective_mtu": 1500,
		"vendor": textOrNull(n.vendor), "product": textOrNull(n.product), "firmware_version": nil,
		"tags": []string{}, "params": orEmpty(n.params), "parents": n.parentNames(), "children": m.childNames(n),
		"links": n.linkViews(m.w), "discovered": n.discoveredViews(m.w),
	}
	if n.vlan != nil {
		v["vlan"] = n.vlan.view(m.w)
	}
	if n.vendor != "" {
		v["firmware_version"] = ""
	}
	if n.kind != "physical" {
		v["numa_node"] = nil
	}
	return v
}

// orEmpty is a JSON object: {} where Go has nil.
func orEmpty(params map[string]any) map[string]any {
	if params == nil {
		return object{}
	}
	return params
}

func (n *nic) parentNames() []string {
	names := []string{}
	for _, p := range n.parents {
		names = append(names, p.name)
	}
	return names
}

func (m *machine) childNames(parent *nic) []string {
	names := []string{}
	for _, n := range m.nics {
		for _, p := range n.parents {
			if p == parent {
				names = append(names, n.name)
			}
		}
	}
	return names
}

func (n *nic) linkViews(w *world) []object {
	views := []object{}
	for _, l := range n.links {
		v := object{"id": l.id, "mode": l.mode}
		if l.subnet != nil {
			v["subnet"] = l.subnet.view(w)
		}
		if l.ip != "" {
			v["ip_address"] = l.ip
		}
		views = append(views, v)
	}
	return views
}

func (n *nic) discoveredViews(w *world) any {
	if n.discovered == nil {
		return nil
	}
	views := []object{}
	for _, d := range n.discovered {
		views = append(views, object{"subnet": d.subnet.view(w), "ip_address": d.ip})
	}
	return views
}
