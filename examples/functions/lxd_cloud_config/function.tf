# The user-data of a VM host, to read it before a machine is deployed.
output "user_data" {
  value = provider::maaslxd::lxd_cloud_config({
    storage_pools        = { fast = { driver = "zfs", source = "/dev/disk/by-id/nvme-1" } }
    trusted_certificates = [file("${path.module}/fleet.crt")]
  })
}
