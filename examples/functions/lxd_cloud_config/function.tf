# What a machine gets at its first boot, to look at it before anything is deployed.
output "user_data" {
  value = provider::maaslxd::lxd_cloud_config({
    storage_pools        = { fast = { driver = "zfs", source = "/dev/disk/by-id/nvme-1" } }
    trusted_certificates = [file("${path.module}/fleet.crt")]
  })
}
