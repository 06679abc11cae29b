# The smallest Ready machine that fits, with a fixed address.
resource "maaslxd_machine" "any" {
  name = "db-2"

  selector = {
    zone           = "az2"
    tags           = ["metal"]
    min_cores      = 8
    min_memory_mib = 16384
  }

  interfaces = {
    lan = {
      ip     = "10.0.0.42"
      subnet = "10.0.0.0/24"
    }
  }

  # Bare metal takes long to deploy. If the time runs out, the next apply
  # continues.
  timeouts = {
    create = "90m"
  }

  # Dependents wait until the machine is deployed.
  lifecycle {
    postcondition {
      condition     = self.status == "Deployed"
      error_message = "Machine ${self.hostname} is ${self.status}."
    }
  }
}
