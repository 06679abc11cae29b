package lxd

import (
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// extensionsSince are the simulated API extensions that clients check, each with the first
// version of LXD that has it.
var extensionsSince = []struct {
	since daemon.Version
	names []string
}{
	{daemon.Version{Major: 3, Minor: 0}, []string{
		"etag", "patch", "network", "profile_usedby", "certificate_update", "storage", "network_vlan", "entity_description",
		"storage_lvm_use_thinpool", "storage_btrfs_mount_options", "storage_driver_ceph", "resource_limits", "resources",
		"network_dhcp_gateway", "operation_description", "clustering", "event_lifecycle", "container_protection_delete", "snapshot_expiry", "snapshot_expiry_creation",
		"network_state", "network_leases", "container_full", "projects", "storage_api_volume_snapshots",
	}},
	{daemon.Version{Major: 4, Minor: 0}, []string{
		"resources_cpu_socket", "resources_v2", "instances", "virtual-machines", "vm_boot_priority", "api_filtering",
		"instance_nic_network", "limits_hugepages", "projects_limits", "projects_restrictions", "resources_disk_id",
		"resources_system", "api_os", "firewall_driver", "usedby_consistency",
	}},
	{daemon.Version{Major: 4, Minor: 16}, []string{
		"custom_block_volumes", "projects_networks", "projects_limits_instances", "instance_bulk_state_change",
		"instance_pool_move", "storage_volume_state", "network_acl", "certificate_project", "project_usage", "warnings",
		"server_supported_storage_drivers", "server_instance_driver_operational",
	}},
	{daemon.Version{Major: 5, Minor: 0}, []string{
		"storage_api_project", "network_forward", "instance_project_move", "cloud_init", "instance_all_projects",
		"instance_get_full", "event_project", "certificate_token", "metrics", "storage_volume_state_total",
	}},
	{daemon.Version{Major: 5, Minor: 21}, []string{
		"instances_nic_host_name", "storage_buckets", "remote_token_expiry", "init_preseed", "cpu_hotplug",
		"storage_volumes_created_at", "storage_volumes_all_projects", "storage_pool_source_wipe", "storage_pool_loop_resize",
		"instances_rebuild", "numa_cpu_placement", "operations_get_query_all_projects", "metadata_configuration",
		"operation_wait", "disk_initial_volume_configuration", "init_preseed_storage_volumes", "server_instance_type_info",
		"server_version_lts", "storage_volumes_all", "explicit_trust_token",
	}},
	{daemon.Version{Major: 6, Minor: 1}, []string{"instance_create_start", "instance_protection_start", "vm_limits_cpu_pin_strategy", "images_all_projects"}},
	{daemon.Version{Major: 6, Minor: 6}, []string{asyncProfiles}},
	{daemon.Version{Major: 6, Minor: 7}, []string{asyncProjectDelete, "instance_boot_mode"}},
	{daemon.Version{Major: 6, Minor: 8}, []string{asyncPoolsAndNetworks}},
}

// Extensions that make calls asynchronous.
const (
	asyncProfiles         = "storage_and_profile_operations"
	asyncProjectDelete    = "project_delete_operation"
	asyncPoolsAndNetworks = "storage_and_network_operations"
)

// extensions are the extensions of the LXD's version.
func extensions(l *world.LXD) []string {
	found := []string{}
	for _, e := range extensionsSince {
		if l.IsAtLeast(e.since) {
			found = append(found, e.names...)
		}
	}
	return found
}

func hasExtension(l *world.LXD, name string) bool { return slices.Contains(extensions(l), name) }

// answerChange answers a completed change. If the LXD has the extension, the answer is an
// operation that has already ended.
func (c *Call) answerChange(extension, description string, rep rest.Reply) rest.Reply {
	if rep.Status >= 300 || !hasExtension(c.LXD, extension) {
		return rep
	}
	return c.startTask(description, nil, 0, func() error { return nil })
}
