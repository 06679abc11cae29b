package sim

import "slices"

// lxdExtensions are the API extensions that clients ask for, of what is
// simulated, and the version from which on LXD has them.
var lxdExtensions = []struct {
	since lxdVersion
	names []string
}{
	{lxdVersion{3, 0}, []string{
		"etag", "patch", "network", "profile_usedby", "certificate_update", "storage", "network_vlan", "entity_description",
		"storage_lvm_use_thinpool", "storage_btrfs_mount_options", "storage_driver_ceph", "resource_limits", "resources",
		"network_dhcp_gateway", "operation_description", "clustering", "event_lifecycle", "container_protection_delete",
		"network_state", "network_leases", "container_full", "projects", "storage_api_volume_snapshots",
	}},
	{lxdVersion{4, 0}, []string{
		"resources_cpu_socket", "resources_v2", "instances", "virtual-machines", "vm_boot_priority", "api_filtering",
		"instance_nic_network", "limits_hugepages", "projects_limits", "projects_restrictions", "resources_disk_id",
		"resources_system", "api_os", "firewall_driver", "usedby_consistency",
	}},
	{lxdVersion{4, 16}, []string{
		"custom_block_volumes", "projects_networks", "projects_limits_instances", "instance_bulk_state_change",
		"instance_pool_move", "storage_volume_state", "network_acl", "certificate_project", "project_usage", "warnings",
		"server_supported_storage_drivers", "server_instance_driver_operational",
	}},
	{lxdVersion{5, 0}, []string{
		"storage_api_project", "network_forward", "instance_project_move", "cloud_init", "instance_all_projects",
		"instance_get_full", "event_project", "certificate_token", "metrics", "storage_volume_state_total",
	}},
	{lxdVersion{5, 21}, []string{
		"instances_nic_host_name", "storage_buckets", "remote_token_expiry", "init_preseed", "cpu_hotplug",
		"storage_volumes_created_at", "storage_volumes_all_projects", "storage_pool_source_wipe", "storage_pool_loop_resize",
		"instances_rebuild", "numa_cpu_placement", "operations_get_query_all_projects", "metadata_configuration",
		"operation_wait", "disk_initial_volume_configuration", "init_preseed_storage_volumes", "server_instance_type_info",
		"server_version_lts", "storage_volumes_all", "explicit_trust_token",
	}},
	{lxdVersion{6, 1}, []string{"instance_create_start", "instance_protection_start", "vm_limits_cpu_pin_strategy", "images_all_projects"}},
	{lxdVersion{6, 6}, []string{asyncProfiles}},
	{lxdVersion{6, 7}, []string{asyncProjectDelete, "instance_boot_mode"}},
	{lxdVersion{6, 8}, []string{asyncPoolsAndNetworks}},
}

// Extensions that make calls asynchronous.
const (
	asyncProfiles         = "storage_and_profile_operations"
	asyncProjectDelete    = "project_delete_operation"
	asyncPoolsAndNetworks = "storage_and_network_operations"
)

// extensions are those of the LXD's version.
func (l *lxdServer) extensions() []string {
	found := []string{}
	for _, e := range lxdExtensions {
		if l.since(e.since) {
			found = append(found, e.names...)
		}
	}
	return found
}

func (l *lxdServer) hasExtension(name string) bool { return slices.Contains(l.extensions(), name) }

// settle answers a change that is made: at once, or, where the LXD has the
// extension, as an operation that is over already.
func (c *lxdCall) settle(extension, description string, rep reply) reply {
	if rep.status >= 300 || !c.l.hasExtension(extension) {
		return rep
	}
	return c.task(description, nil, 0, func() error { return nil })
}
