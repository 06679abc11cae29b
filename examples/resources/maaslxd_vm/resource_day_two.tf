# A VM that nobody deletes by mistake. A plan that would destroy or replace it is an
# error. To allow that, first apply deletion_protection = false.
resource "maaslxd_vm" "ledger" {
  name    = "ledger-1"
  vm_host = "lxd-a"

  deletion_protection = true

  # MAAS's description of the machine. It changes in place.
  description = "Books of the shop. Ask the billing team."

  # Workload annotations in MAAS. Keys that you do not set here stay.
  annotations = {
    team = "billing"
  }

  # Where VMs are made in LXD itself, memory and disk sizes change in place. An
  # update turns the VM off, and on again.
  memory_mib                = 4096
  allow_stopping_for_update = true

  # Another value redeploys the VM. The VM keeps its system id and fixed addresses, and
  # loses the data on all disks. Turn deletion_protection off first.
  redeploy_triggers = {
    release = "2026-11"
  }

  # Without this line the provider does not change the VM's power.
  power_state = "running"

  deploy = {
    image = "ubuntu/noble"
  }
}
