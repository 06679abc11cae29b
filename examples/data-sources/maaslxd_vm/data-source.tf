data "maaslxd_vm" "web" {
  name = "web-1"
}

output "web_1" {
  value = {
    host         = data.maaslxd_vm.web.vm_host_name
    status       = data.maaslxd_vm.web.status
    ip_addresses = data.maaslxd_vm.web.ip_addresses
  }
}
