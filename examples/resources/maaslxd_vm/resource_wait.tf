# A create that runs out of time ends with a warning, and the next apply
# continues. With the postcondition it is an error instead, so that nothing is
# built on an unfinished VM.
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

# Made after the VM is deployed.
output "db_addresses" {
  value = maaslxd_vm.db.ip_addresses
}
