# Ubuntu on a Ready machine. After a destroy the machine is Ready again.
resource "maaslxd_machine" "db" {
  name    = "db-1"
  machine = "node1"

  # A change redeploys the machine.
  deploy = {
    image                = "ubuntu/noble"
    user_data_wo         = file("${path.module}/cloud-init.yaml")
    user_data_wo_version = 1
  }

  # These change in place. A destroy restores what the machine had before.
  pool = "kvm"
  tags = ["database"]

  # While this is true, no plan and no user of MAAS can release the machine.
  deletion_protection = false

  # A release overwrites the first and the last part of each disk.
  release = { erase = "quick" }
}

output "db" {
  value = maaslxd_machine.db.ip_addresses
}
