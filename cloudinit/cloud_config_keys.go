package cloudinit

// cloudConfigKeys are the top-level keys of cloud-config
// (config/schemas/schema-cloud-config-v1.json). Messages name only these: any other word at
// the beginning of a line may be a secret that slipped there.
var cloudConfigKeys = []string{
	"ansible", "apk_repos", "apt", "apt_pipelining", "autoinstall", "bootcmd", "byobu_by_default", "ca_certs",
	"chef", "chpasswd", "cloud_config_modules", "cloud_final_modules", "cloud_init_modules", "create_hostname_file",
	"datasource", "datasource_list", "debug", "device_aliases", "disable_ec2_metadata", "disable_root",
	"disable_root_opts", "disk_setup", "fan", "final_message", "fqdn", "fs_setup", "groups", "growpart",
	"grub_dpkg", "hostname", "keyboard", "landscape", "launch-index", "locale", "locale_configfile", "lxd",
	"manage_etc_hosts", "manage_resolv_conf", "mcollective", "merge_how", "merge_type", "mount_default_fields",
	"mounts", "no_ssh_fingerprints", "ntp", "output", "package_reboot_if_required", "package_update",
	"package_upgrade", "packages", "password", "phone_home", "power_state", "prefer_fqdn_over_hostname",
	"preserve_hostname", "puppet", "random_seed", "reporting", "resize_rootfs", "resolv_conf", "rh_subscription",
	"rpi", "rsyslog", "runcmd", "salt_minion", "snap", "spacewalk", "ssh", "ssh_authorized_keys",
	"ssh_deletekeys", "ssh_fp_console_blacklist", "ssh_genkeytypes", "ssh_import_id", "ssh_key_console_blacklist",
	"ssh_keys", "ssh_publish_hostkeys", "ssh_pwauth", "ssh_quiet_keygen", "swap", "system_info", "timezone",
	"ubuntu_advantage", "ubuntu_pro", "updates", "user", "users", "vendor_data", "version", "wireguard",
	"write_files", "yum_repo_dir", "yum_repos", "zypper",
}
