# The fleet of ../fleet. "make demo" runs this on a simulated MAAS. It also runs on
# a real MAAS that has Ready machines with these names.

terraform {
  required_version = ">= 1.11"
  required_providers {
    maaslxd = {
      source = "maaslxd/maaslxd"
    }
  }
}

# The MAAS and its key come from MAAS_API_URL and MAAS_API_KEY.
provider "maaslxd" {
  # Simulated machines are deployed in seconds.
  poll_interval = "1s"
}

variable "zones" {
  description = "Machines to make LXD hosts of, by hostname, and the availability zone of each."
  type        = map(string)
  default = {
    node1 = "az1"
    node2 = "az1"
    node3 = "az2"
  }
}

module "fleet" {
  source = "../fleet"
  hosts  = { for machine, zone in var.zones : machine => { zone = zone } }
  vms    = 6
}

# Read after each change of the fleet, so that the table shows the present state.
data "maaslxd_vm_hosts" "fleet" {
  filter = { tags = ["fleet"] }

  depends_on = [module.fleet]
}

output "fleet" {
  description = "Hosts by name: zone, cores and memory that are used and that there are, and the names of the VMs."
  value = {
    for host in data.maaslxd_vm_hosts.fleet.vm_hosts : host.name => {
      zone       = host.zone
      cores      = { used = host.cores.used, total = host.cores.total }
      memory_mib = { used = host.memory_mib.used, total = host.memory_mib.total }
      vms        = module.fleet.fleet[host.name].vms
    }
  }
}

output "addresses" {
  description = "Addresses of the VMs, by name."
  value       = module.fleet.addresses
}
