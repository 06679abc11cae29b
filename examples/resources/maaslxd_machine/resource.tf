# A Ready machine gets Ubuntu, and is Ready again for others after a destroy.
resource "maaslxd_machine" "db" {
  name    = "db-1"
  machine = "node1"

  # Changing this deploys the machine anew.
  deploy = {
    image                = "ubuntu/noble"
    user_data_wo         = file("${path.module}/cloud-init.yaml")
    user_data_wo_version = 1
  }

  # These change in place. A destroy puts back what the machine had before.
  pool = "kvm"
  tags = ["database"]

  # No plan and nobody in MAAS releases it while this is true.
  deletion_protection = false

  # Its disks are overwritten at both ends when it is given back.
  release = { erase = "quick" }
}

output "db" {
  value = maaslxd_machine.db.ip_addresses
}
