# A VM that nobody deletes by mistake. A destroy, and a change that would replace
# it, is an error of the plan until deletion_protection is false and applied.
resource "maaslxd_vm" "ledger" {
  name    = "ledger-1"
  vm_host = "lxd-a"

  deletion_protection = true

  # What MAAS shows on the page of the machine. Changes in place.
  description = "Books of the shop. Ask the billing team."

  # Workload annotations in MAAS. Keys of others are left alone.
  annotations = {
    team = "billing"
  }

  # Where VMs are made in LXD itself, a new size of memory or of a disk changes in
  # place: the VM is turned off for it, and on again.
  memory_mib                = 4096
  allow_stopping_for_update = true

  # Another value redeploys the VM: it keeps its system id and fixed addresses, and loses
  # what is on all of its disks. Take deletion_protection off first.
  redeploy_triggers = {
    release = "2026-11"
  }

  # Without this line the power of the VM is left alone.
  power_state = "running"

  deploy = {
    image = "ubuntu/noble"
  }
}
