# Four VMs of one group: two in each of the two zones, and there on different
# VM hosts as long as there are any.
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

# vm_host tells which VM host was chosen. It is kept.
output "api" {
  value = { for vm in maaslxd_vm.api : vm.name => { host = vm.vm_host, zone = vm.zone } }
}
