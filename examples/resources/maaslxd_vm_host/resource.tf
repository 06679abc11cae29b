# A Ready machine becomes an LXD host. MAAS makes its bridge br0 and deploys it. At
# its first boot it sets LXD up with a ZFS pool of 50 GB.
resource "maaslxd_vm_host" "node1" {
  name    = "kvm-1"
  machine = "node1"

  # These change in place.
  zone              = "az1"
  pool              = "kvm"
  tags              = ["kvm"]
  cpu_overcommit    = 4
  memory_overcommit = 1

  # A change replaces the host.
  deploy = {
    image = "ubuntu/noble"
  }
}

# Terraform makes this VM after the host, and destroys it before the host. vm_host is
# the id: a renamed host keeps its VMs, and a replaced host gets new ones.
resource "maaslxd_vm" "web" {
  name    = "web-1"
  vm_host = maaslxd_vm_host.node1.id
}
