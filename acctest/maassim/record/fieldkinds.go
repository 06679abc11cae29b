package record

import (
	"regexp"
	"slices"
	"strings"
)

// secretWords occur in the names of fields and settings that hold secrets.
const secretWords = `pass|pwd|secret|token|cred|macaroon|cookie|session|csrf|oauth|private|k_g|apikey|sshkey|keydata`

// secretKeys matches the names of such fields. Short words count as whole words only.
var secretKeys = regexp.MustCompile(`(?i)(` + secretWords + `|auth|sign(ature|ed)|keyring_data|(^|[^a-z])(keys?|pin|pw|otp|psk|salt|kg|community)([^a-z]|$)|[a-z]keys?\d*$)`)

// nonSecretFields have names like secrets but hold none.
var nonSecretFields = wordSet(`authoritative has_password key_id keyring_filename keysource primary_key sort_key storage_key tag_key`)

// IsSecret tells whether a field of this name, or a setting of MAAS, is secret.
func IsSecret(key string) bool {
	return secretKeys.MatchString(key) && !nonSecretFields[key] || strings.HasPrefix(key, "vcenter_")
}

// freeTextFields are fields in which people write anything.
var freeTextFields = wordSet(`description comment note message first_name last_name kernel_opts serial
	system_serial chassis_serial mainboard_serial wwn id_path content script definition`)

// ownerDataFields are objects whose keys and values the clients choose.
var ownerDataFields = wordSet(`owner_data workload_annotations`)

// constraintFields are fields in which a client asks for disks or interfaces, as in
// root:8(fast),data:10 and eth0:space=dmz. constraintWords are MAAS's own words in them.
var (
	constraintFields = wordSet(`storage interfaces`)
	constraintWords  = wordSet(`cidr fabric fabric_class hostname ip mode name space subnet subnet_cidr tag vid vlan`)
)

// sentenceFields are fields in which MAAS writes sentences.
var sentenceFields = wordSet(`status_message status_info error type used_for`)

// harmlessFields are the fields and settings whose values reveal nothing of a site, except
// for names and addresses in them. The values of all other fields are left out, because
// another MAAS's API may have secrets that this list does not know.
var harmlessFields = wordSet(`
	accept_all accept_ra action active_discovery add add_block_devices add_partitions add_spare_devices add_spare_partitions added address_ttl
	admins after alias all alloc_type alloc_type_name allow_dns allow_proxy always_use_ping apply_configured_networking arch arches architecture
	architectures authoritative available available_size available_string backing_device backing_partition base_image bcaches before
	bios_boot_method block_devices block_size blockdevice_set bond_downdelay bond_lacp_rate bond_miimon bond_mode bond_num_grat_arp
	bond_updelay bond_xmit_hash_policy boot_interface boot_size boot_source_id bootable bridge_all bridge_fd bridge_stp bridge_type bus
	cache_device cache_mode cache_no_part cache_partition cache_set cache_sets cache_size capabilities category chassis_type chassis_vendor
	chassis_version children cidr class_type commission commissioning_driver commissioning_scripts commissioning_status
	commissioning_status_name complete components constraints_by_type context cores count cpu_count cpu_model cpu_over_commit_ratio cpu_speed
	cpu_test_status cpu_test_status_name created decompose default default_gateway default_gateways default_macvlan_mode
	default_storage_pool deployed destination destinations destructive device_id devices dhcp_on disable_ipv4 disable_sources
	disabled disabled_boot_architectures disabled_components disabled_pockets discovered discovery_id dismissable distributions distro_series
	dns_records dns_servers dnsdata_id dnsresource_id dry_run duplex dynamic effective_mtu email enable_hw_sync enable_ssh enabled end end_ip
	ephemeral_deploy erase events external_dhcp fabric_classes fabric_id fabrics file filename files filesystem filetype filters
	firmware_version first_address for_hardware force format forward_dns_servers fstype gateway_ip global_snippet hardware_info
	hardware_type hardware_uuid has_password hugepages_backed hugepages_set hwe_kernel id ident include_output include_ranges include_script
	include_suggestions index install_kvm install_rackd interface_set interface_speed interface_test_status interface_test_status_name
	interfaces ip ip_address ip_addresses ip_version iprange ipv4 ipv6 is_container is_default is_local is_superuser key_id
	keyring_filename kflavor label labels largest_available last_address last_deployed last_sync level limit link_connected link_id
	link_speed links local_storage locked lv_name lv_size mac mac_address mac_addresses machines mainboard_firmware_date
	mainboard_firmware_vendor mainboard_firmware_version mainboard_product mainboard_vendor mainboard_version managed may_reboot mdns mem
	memory memory_over_commit_ratio memory_test_status memory_test_status_name metric min_hwe_kernel mode model mount_option mount_options
	mount_point mtu neighbours netboot network network_test_status network_test_status_name next_sync next_uri node node_summary node_type
	node_type_name nodes num_addresses num_available num_unavailable numa_node numanode_set offset op os osystem other_test_status
	other_test_status_name page_size parallel params parent parents partition_table_type partitions path physicalblockdevice_set
	pinned_cores platform pod_type port power_address power_control power_parameters power_state power_type prefix prefix_filter
	prev_uri primary_rack product product_id product_name protocol purpose quick_erase quiet rack_controller raids ranges rdns_mode
	recommission register_vmhost relay_vlan release release_name remove remove_block_devices remove_partitions remove_spare_devices
	remove_spare_partitions removed resource_record_count resource_records resource_uri result_type revision role root_device root_size
	rrdata rrtype secondary_rack secure_erase service_set sets sha256 size skip_bmc_config skip_commissioning skip_networking skip_storage
	slow source spare_devices spare_partitions special_filesystems squashfs sriov_max_vf start start_ip state status status_action
	status_name stop_mode storage storage_layout storage_test_status storage_test_status_name subarch subarches subarchitecture subnets
	subversion supported_platforms suppressed swap_size sync_interval system_family system_id system_product system_sku system_vendor
	system_version testing_scripts testing_status testing_status_name threads timeout title to total total_addresses transfer_resources_to
	ttl updated url usage usage_string used used_size user_id uuid vendor vendor_id vendor_name verbose verify_ssl version via vid
	virtualblockdevice_set virtualmachine_id vlans volume_groups with_node_summary with_summary with_username zones
	__incomplete__ boot_disk boot_disk_id filesystem_group host_id host local_storage_pools memory_total numa_node_id partition service_set
	default_distro_series default_osystem default_min_hwe_kernel commissioning_distro_series default_storage_layout enable_http_proxy
	enable_third_party_drivers http_proxy kernel_modules max_node_commissioning_results network_discovery release_notifications
	session_length_unit tls_port use_peer_proxy use_rack_proxy`)

// nameKinds are fields that hold names which the site chose, with the kind of each name.
var nameKinds = map[string]string{
	"hostname": "host", "fqdn": "host", "instance_name": "host", "pod": "vmhost", "not_pod": "vmhost", "vm_host": "vmhost",
	"username": "user", "owner": "user", "user": "user", "power_user": "user", "zone": "zone", "not_in_zone": "zone",
	"pool": "pool", "not_in_pool": "pool", "resource_pool": "pool", "domain": "domain", "project": "project",
	"tags": "tag", "not_tags": "tag", "tag": "tag", "tag_names": "tag", "vlan": "vlan", "fabric": "fabric", "not_fabrics": "fabric",
	"space": "space", "subnet": "subnet", "not_subnets": "subnet", "storage_pool": "storage", "vg_name": "group", "agent_name": "agent",
}

// namedRoutes are collections, and objects in answers, whose rows have a name that the
// site chose.
var namedRoutes = map[string]string{
	"machines": "host", "nodes": "host", "devices": "host", "rackcontrollers": "host", "regioncontrollers": "host",
	"vm-hosts": "vmhost", "pods": "vmhost", "pod": "vmhost", "zones": "zone", "zone": "zone",
	"resourcepools": "pool", "resourcepool": "pool", "pool": "pool", "tags": "tag", "users": "user",
	"domains": "domain", "domain": "domain", "fabrics": "fabric", "spaces": "space", "subnets": "subnet", "subnet": "subnet",
	"vlans": "vlan", "vlan": "vlan", "dnsresources": "host", "storage_pools": "storage", "interfaces": "nic", "interface_set": "nic",
	"boot_interface": "nic", "boot-resources": "image",
}

// secretParameters are MAAS's own parameters that hold secrets.
var secretParameters = wordSet(`key license_key password power_pass token token_key token_secret user_data value certificate`)

// routeWords are the other words of MAAS's paths.
var routeWords = wordSet(`MAAS api 2.0 account boot-sources boot-source-selections blockdevices bcaches bcache bcache-cache-sets cache-set
	commissioning-scripts describe devices dhcp-snippets discovery dnsresourcerecords events files interface ipaddresses ipranges
	license-keys license-key maas machine nodes notifications package-repositories partition partitions raids raid reservedips results
	scripts selections ssh sshkeys sslkeys prefs static-routes staticroutes tag user users version vmfs-datastores volume-group
	volume-groups vm-host op fabric space rackcontroller regioncontroller device dnsresource dnsresourcerecord installation-results
	commissioning-results groups oidc-providers virtual-machines boot-resources node`)

// MAAS, LXD and Linux generate such names. They reveal nothing of a site.
var generatedNamePattern = regexp.MustCompile(`^((fabric|vlan|space|subnet)-\d+|(eth|bond|br|maasbr|lxdbr|virbr|tap|veth|lo|ib|eno|ens|enp|enx|en|wlan|wlp)[0-9a-f]*(s\d+)?(f\d+)?(np?\d+)?(\.\d+)?|ethmaas\d+|(sd|vd|hd|xvd)[a-z]+\d*|(nvme|md|dm-|bcache)\d+[np0-9]*|\d+rpm)$`)

// knownWords are never names of a site, in whatever field they are.
var knownWords = wordSet(`default maas MAAS None null true false on off unknown error virtual undefined untagged
	pod-console-logging lxd LXD virsh manual ubuntu amd64 arm64 generic admin_only machine Ready New Deployed Allocated Broken
	ready new deployed allocated broken deploying commissioning physical bridge bond vlan auto static dhcp link_up any all
	name id key value type root ssd hdd nvme rotary sata local custom centos centos7 centos70 centos8 debian rhel windows esxi ubuntu-core bionic focal jammy noble node zone pool tag domain
	password secret token GET POST PUT DELETE`)

// wordSet are the words of a text.
func wordSet(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}

// leftOutOperations are operations and collections whose answers consist of secrets,
// scripts or logs. No part of these answers is kept.
var leftOutOperations = wordSet(`details get_curtin_config get_preseed get_token download files scripts results commissioning-results
	installation-results commissioning-scripts describe`)

// isLeftOut tells whether the whole answer must be left out.
func isLeftOut(op, collection string) bool {
	return leftOutOperations[op] || leftOutOperations[collection]
}

// mediaTypes are the content types of requests that a recording keeps.
var mediaTypes = []string{
	"application/json", "application/octet-stream", "application/x-www-form-urlencoded", "application/xml", "multipart/form-data", "text/plain",
}

func mediaName(media string) string {
	if slices.Contains(mediaTypes, media) {
		return media
	}
	return "<CONTENT TYPE>"
}
