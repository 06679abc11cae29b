# terraform query -generate-config-out=machines.tf writes the import blocks.
list "maaslxd_machine" "unmanaged" {
  provider         = maaslxd
  include_resource = true

  config {
    zone    = "az1"
    managed = false
  }
}
