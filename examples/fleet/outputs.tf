output "fleet" {
  description = "Hosts by name: zone, cores and memory that are used and that there are, and the names of the VMs."
  value = {
    for host in data.maaslxd_vm_hosts.all.vm_hosts : host.name => {
      zone       = host.zone
      cores      = "${host.cores.used}/${host.cores.total}"
      memory_gib = "${floor(host.memory_mib.used / 1024)}/${floor(host.memory_mib.total / 1024)}"
      vms        = sort([for vm in maaslxd_vm.all : vm.name if vm.vm_host_name == host.name])
    }
  }
}

output "addresses" {
  description = "Addresses of the VMs, by name."
  value       = { for vm in maaslxd_vm.all : vm.name => vm.ip_addresses }
}
