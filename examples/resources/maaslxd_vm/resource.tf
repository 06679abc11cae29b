# A deployed VM with two disks and a fixed address.
resource "maaslxd_vm" "web" {
  name       = "web-1"
  vm_host    = "lxd-a"
  cores      = 4
  memory_mib = 8192

  disks = {
    root = { size_gb = 40 }
    data = { size_gb = 100, pool = "fast" }
  }

  interfaces = {
    eth0 = { subnet = "10.0.0.0/24", ip = "10.0.0.11" }
  }

  # These change in place.
  zone   = "az1"
  pool   = "web"
  domain = "example.com"
  tags   = ["web"]

  # A change replaces the VM.
  deploy = {
    image                = "ubuntu/noble"
    user_data_wo         = file("${path.module}/cloud-init.yaml")
    user_data_wo_version = 1
  }
}

# A VM that is composed and commissioned, but not deployed. It stays Ready.
resource "maaslxd_vm" "spare" {
  name    = "spare-1"
  vm_host = "lxd-a"
}
