# Three VMs on two LXD hosts, deployed with Ubuntu. "make demo" runs this on a
# simulated MAAS; with hosts of these names it runs on a real one.

terraform {
  required_version = ">= 1.11"
  required_providers {
    maaslxd = {
      source = "maaslxd/maaslxd"
    }
  }
}

# The MAAS and its key come from MAAS_API_URL and MAAS_API_KEY.
provider "maaslxd" {}

variable "tags" {
  description = "MAAS tags of every VM."
  type        = set(string)
  default     = ["demo"]
}

locals {
  vms = {
    web-1 = { host = "lxd-a", zone = "az1", cores = 2, memory_mib = 4096, disks_gb = { root = 20 } }
    web-2 = { host = "lxd-b", zone = "az2", cores = 2, memory_mib = 4096, disks_gb = { root = 20 } }
    db-1  = { host = "lxd-b", zone = "az2", cores = 4, memory_mib = 8192, disks_gb = { root = 20, data = 100 } }
  }
}

resource "maaslxd_vm" "demo" {
  for_each = local.vms

  name       = each.key
  vm_host    = each.value.host
  zone       = each.value.zone
  cores      = each.value.cores
  memory_mib = each.value.memory_mib
  disks      = { for name, size in each.value.disks_gb : name => { size_gb = size } }
  tags       = var.tags

  deploy = {
    image                = "ubuntu/noble"
    user_data_wo         = "#cloud-config\npackages: [chrony]\n"
    user_data_wo_version = 1
  }

  timeouts = {
    create = "5m"
  }
}

output "vms" {
  description = "What was made, by name."
  value = {
    for name, vm in maaslxd_vm.demo : name => {
      system_id    = vm.id
      host         = vm.vm_host
      zone         = vm.zone
      cores        = vm.cores
      memory_mib   = vm.memory_mib
      disks_gb     = { for disk, d in vm.disks : disk => d.size_gb }
      ip_addresses = vm.ip_addresses
      status       = vm.status
      tags         = vm.tags
    }
  }
}
