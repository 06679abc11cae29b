# The work of the bench with our own provider. A configuration for another
# provider takes the same variables, as far as it has a use for them.

terraform {
  required_providers {
    maaslxd = {
      source = "maaslxd/maaslxd"
    }
  }
}

variable "vms" {
  description = "How many VMs there are to be."
  type        = number
}

variable "hosts" {
  description = "How many VM hosts there are: host1, host2, … Placement finds them by itself."
  type        = number
}

variable "changed" {
  description = "The step update changes this, and so one attribute of each VM."
  type        = bool
  default     = false
}

variable "poll_interval" {
  description = "Time between two looks. Short where nothing is measured, and the simulated machines are instant."
  type        = string
  default     = "5s"
}

variable "owner" {
  description = "Who makes the VMs. A ledger service wants one; with a file the folder has its own."
  type        = string
  default     = null
}

# The MAAS and its key come from MAAS_API_URL and MAAS_API_KEY.
provider "maaslxd" {
  owner         = var.owner
  poll_interval = var.poll_interval
}

resource "maaslxd_vm" "bench" {
  count = var.vms

  name       = "bench-${count.index + 1}"
  placement  = {}
  cores      = 1
  memory_mib = 1024
  disks      = { root = { size_gb = 8 } }
  pool       = var.changed ? "changed" : "default"

  deploy = {
    image = "ubuntu/noble"
  }
}
