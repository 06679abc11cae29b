# The smallest Ready machine that fits, with two storage pools in files on its boot
# disk. For a pool on a disk of its own (source), name the machine: its disks must be
# known.
resource "maaslxd_vm_host" "any" {
  name = "kvm-2"

  selector = {
    zone           = "az2"
    tags           = ["metal"]
    min_cores      = 8
    min_memory_mib = 16384
  }

  deploy = {
    image                = "ubuntu/noble"
    user_data_wo         = file("${path.module}/packages.yaml")
    user_data_wo_version = 1
  }

  bridge = {
    name   = "br0"
    subnet = "10.0.0.0/24"
  }

  lxd = {
    channel = "5.21/stable"
    project = "vms"
    storage_pools = {
      default = { driver = "zfs", size_gb = 100 }
      scratch = { driver = "btrfs", size_gb = 20 }
    }
  }

  # Bare metal takes long to deploy. If the time runs out, the next apply
  # continues.
  timeouts = {
    create = "90m"
  }

  # A machine that fails is released at once. Each release overwrites the first and
  # the last part of its disks.
  on_create_failure = "release"
  release           = { erase = "quick" }
}
