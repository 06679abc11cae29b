# The bench's work with the provider canonical/maas: a VM is two resources, one
# that composes it and one that deploys it.

terraform {
  required_providers {
    maas = {
      source = "canonical/maas"
    }
  }
}

variable "vms" {
  description = "How many VMs there are to be."
  type        = number
}

variable "hosts" {
  description = "How many VM hosts there are: host1, host2, … The VMs go to them in turn."
  type        = number
}

variable "changed" {
  description = "The step update changes this, and so one attribute of each VM."
  type        = bool
  default     = false
}

# The MAAS and its key come from MAAS_API_URL and MAAS_API_KEY.
provider "maas" {}

resource "maas_vm_host_machine" "bench" {
  count = var.vms

  vm_host  = "host${count.index % var.hosts + 1}"
  hostname = "bench-${count.index + 1}"
  cores    = 1
  memory   = 1024
  pool     = var.changed ? "changed" : "default"

  storage_disks {
    size_gigabytes = 8
  }
}

resource "maas_instance" "bench" {
  count = var.vms

  allocate_params {
    system_id = maas_vm_host_machine.bench[count.index].id
  }

  deploy_params {
    distro_series = "ubuntu/noble"
  }
}
