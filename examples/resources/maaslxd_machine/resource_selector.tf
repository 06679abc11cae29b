# The smallest Ready machine that will do, with a fixed address.
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

  # A deployment of metal takes its time. What is not done by then is gone on
  # with by the next apply.
  timeouts = {
    create = "90m"
  }

  # Dependents wait for a machine that is there.
  lifecycle {
    postcondition {
      condition     = self.status == "Deployed"
      error_message = "Machine ${self.hostname} is ${self.status}."
    }
  }
}
