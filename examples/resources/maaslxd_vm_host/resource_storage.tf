# A host with two disks. The operating system has a logical volume of 30 GB on the
# first disk. LXD uses the whole second disk for its storage pool.
resource "maaslxd_vm_host" "storage" {
  name    = "kvm-4"
  machine = "node1"

  deploy = {
    image = "ubuntu/noble"
    storage_layout = {
      type           = "lvm"
      root_disk      = "sda"
      volume_size_gb = 30
    }
  }

  lxd = {
    storage_pools = {
      local = { driver = "zfs", source = "/dev/sdb" }
    }
  }
}
