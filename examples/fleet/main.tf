# A fleet from bare metal, in one apply: machines become LXD hosts. VMs spread over
# the zones, and then over the hosts.

resource "maaslxd_vm_host" "all" {
  for_each = var.hosts

  name    = "kvm-${each.key}"
  machine = each.key
  zone    = each.value.zone
  tags    = ["fleet"]

  deploy = {
    image = var.image
  }

  lxd = {
    storage_pools = { default = var.storage }
  }

  lifecycle {
    # Dependents wait until the host is ready.
    postcondition {
      condition     = self.status == "Deployed"
      error_message = "${self.name} is ${self.status}; apply again to go on waiting for it."
    }
  }
}

resource "maaslxd_vm" "all" {
  count = var.vms

  name       = "vm-${count.index + 1}"
  cores      = var.size.cores
  memory_mib = var.size.memory_mib

  # Any host of the fleet. VMs of one group spread over the hosts.
  placement = {
    tags  = ["fleet"]
    group = "fleet"
  }

  deploy = {
    image = var.image
  }

  # A placement names no host, so state the order: hosts are created first, and
  # destroyed last.
  depends_on = [maaslxd_vm_host.all]
}

# Read after the VMs are made.
data "maaslxd_vm_hosts" "all" {
  filter = { tags = ["fleet"] }

  depends_on = [maaslxd_vm_host.all, maaslxd_vm.all]
}
