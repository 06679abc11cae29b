# The smallest Ready machine that will do, with two storage pools in files on the
# disk that it boots from. A pool on a disk of its own, by source, is for a
# machine that is named: only then is it known which disk that is.
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

  # A deployment of metal takes its time. What is not done by then is gone on
  # with by the next apply.
  timeouts = {
    create = "90m"
  }

  # A machine that will not get there is given back at once, and its disks are
  # overwritten at both ends whenever it is.
  on_create_failure = "release"
  release           = { erase = "quick" }
}
