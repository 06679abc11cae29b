# A Ready machine becomes an LXD host: MAAS makes the bridge br0 on it, deploys
# it, and it sets LXD up with a ZFS pool of 50 GB.
resource "maaslxd_vm_host" "node1" {
  name    = "kvm-1"
  machine = "node1"

  # These change in place.
  zone              = "az1"
  pool              = "kvm"
  tags              = ["kvm"]
  cpu_overcommit    = 4
  memory_overcommit = 1

  # Changing this makes the host anew.
  deploy = {
    image = "ubuntu/noble"
  }
}

# VMs are made on it as soon as it is ready, and are gone before it is. By its id
# they stay when it is renamed, and the plan replaces them when it is replaced.
resource "maaslxd_vm" "web" {
  name    = "web-1"
  vm_host = maaslxd_vm_host.node1.id
}
