# The bench's work with hosts and the provider canonical/maas: MAAS itself sets up
# the LXD of a machine that it deploys as a VM host.

terraform {
  required_providers {
    maas = {
      source = "canonical/maas"
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

# The MAAS and its key come from MAAS_API_URL and MAAS_API_KEY.
provider "maas" {}

resource "maas_vm_host" "bench" {
  count = var.hosts

  type    = "lxd"
  machine = "machine${count.index + 1}"
  pool    = var.changed ? "changed" : "default"
}
