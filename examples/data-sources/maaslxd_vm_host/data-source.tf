data "maaslxd_vm_host" "a" {
  name = "lxd-a"
}

output "left_on_lxd_a" {
  value = {
    cores      = data.maaslxd_vm_host.a.cores.free
    memory_mib = data.maaslxd_vm_host.a.memory_mib.free
    disk_gb    = { for name, pool in data.maaslxd_vm_host.a.storage_pools : name => pool.free_gb }
  }
}
