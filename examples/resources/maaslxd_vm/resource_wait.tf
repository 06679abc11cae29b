# A create that runs out of time ends with a warning, and the next apply goes
# on. The postcondition makes that an error for whatever depends on the VM, so
# that nothing is built on a VM that is not there yet. It costs nothing when
# the VM is done in time.
resource "maaslxd_vm" "db" {
  name    = "db-1"
  vm_host = "lxd-a"

  deploy = {
    image = "ubuntu/noble"
  }

  timeouts = {
    create = "45m"
  }

  lifecycle {
    postcondition {
      condition     = self.status == "Deployed"
      error_message = "${self.name} is ${self.status}; apply again to go on waiting for it."
    }
  }
}

# Made only once the VM is deployed.
output "db_addresses" {
  value = maaslxd_vm.db.ip_addresses
}
