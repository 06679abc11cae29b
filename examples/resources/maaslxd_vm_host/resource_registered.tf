# A running LXD that trusts the fleet's certificate for the project. MAAS adopts the
# VMs in the project, and power-cycles them.
resource "maaslxd_vm_host" "old" {
  name               = "kvm-old"
  address            = "10.0.0.250"
  adopt_existing_vms = true
}
