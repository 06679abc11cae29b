# An LXD that runs already, and trusts the certificate of the fleet for the
# project. VMs that it has become machines of MAAS, and are power-cycled.
resource "maaslxd_vm_host" "old" {
  name               = "kvm-old"
  address            = "10.0.0.250"
  adopt_existing_vms = true
}
