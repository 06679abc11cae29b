# Hosts in one zone that have room for a large VM.
data "maaslxd_vm_hosts" "roomy" {
  filter = {
    zone                = "az1"
    tags                = ["ssd"]
    min_free_cores      = 8
    min_free_memory_mib = 16384
  }
}

output "roomy" {
  value = data.maaslxd_vm_hosts.roomy.vm_hosts[*].name
}
