# A fleet from bare metal: machines become LXD hosts, and VMs spread over their
# zones, then over the hosts, in one apply.

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
    # Nothing is built on a host that is not there yet.
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

  # Any host of the fleet will do. VMs of one group stand apart.
  placement = {
    tags  = ["fleet"]
    group = "fleet"
  }

  deploy = {
    image = var.image
  }

  # A placement names no host, so the order must be said: hosts first, and last
  # in a destroy.
  depends_on = [maaslxd_vm_host.all]
}

# What there is once the VMs are made.
data "maaslxd_vm_hosts" "all" {
  filter = { tags = ["fleet"] }

  depends_on = [maaslxd_vm_host.all, maaslxd_vm.all]
}
