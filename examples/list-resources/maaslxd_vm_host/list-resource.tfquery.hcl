# terraform query -generate-config-out=hosts.tf writes the import blocks.
list "maaslxd_vm_host" "unmanaged" {
  provider         = maaslxd
  include_resource = true

  config {
    zone    = "az1"
    managed = false
  }
}
