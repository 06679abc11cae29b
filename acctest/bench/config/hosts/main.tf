# The bench's work with hosts: bare machines become LXD hosts. A configuration
# for another provider takes the same variables, as far as it has a use for
# them.

terraform {
  required_providers {
    maaslxd = {
      source = "maaslxd/maaslxd"
    }
  }
}

variable "hosts" {
  description = "How many of the machines machine1, machine2, … are to be hosts."
  type        = number
}

variable "changed" {
  description = "The step update changes this, and so one attribute of each host."
  type        = bool
  default     = false
}

variable "poll_interval" {
  description = "Time between two looks."
  type        = string
  default     = "5s"
}

# The MAAS and its key come from MAAS_API_URL and MAAS_API_KEY. Only MAAS
# reaches the simulated hosts, so all that is asked of them is asked of MAAS.
provider "maaslxd" {
  poll_interval = var.poll_interval
  probe         = "maas"
}

resource "maaslxd_vm_host" "bench" {
  count = var.hosts

  name    = "bench-${count.index + 1}"
  machine = "machine${count.index + 1}"
  pool    = var.changed ? "changed" : "default"

  deploy = {
    image = "ubuntu/noble"
  }
}
