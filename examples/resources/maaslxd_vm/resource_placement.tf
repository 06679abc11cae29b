# Four VMs of one group: two in each of two zones. Within a zone they are on
# different VM hosts if it has several.
resource "maaslxd_vm" "api" {
  count = 4

  name = "api-${count.index + 1}"

  placement = {
    pool  = "kvm"
    tags  = ["ssd"]
    group = "api"
  }

  cores      = 2
  memory_mib = 4096
}

# vm_host is the chosen VM host. The VM stays there.
output "api" {
  value = { for vm in maaslxd_vm.api : vm.name => { host = vm.vm_host, zone = vm.zone } }
}
