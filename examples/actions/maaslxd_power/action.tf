resource "maaslxd_vm" "web" {
  name    = "web-1"
  vm_host = "kvm1"
  deploy  = { image = "ubuntu/noble" }
}

# terraform apply -invoke=action.maaslxd_power.restart
action "maaslxd_power" "restart" {
  config {
    machine = maaslxd_vm.web.id
    power   = "cycle"
  }
}
