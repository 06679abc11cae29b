# VMs that no configuration manages, on one VM host.
data "maaslxd_vms" "strangers" {
  filter = {
    vm_host = "lxd-a"
    managed = false
  }
}

output "strangers" {
  value = { for vm in data.maaslxd_vms.strangers.vms : vm.name => vm.id }
}
