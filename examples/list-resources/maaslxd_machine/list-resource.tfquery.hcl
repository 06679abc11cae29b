# terraform query -generate-config-out=machines.tf writes what imports these machines.
list "maaslxd_machine" "unmanaged" {
  provider         = maaslxd
  include_resource = true

  config {
    zone    = "az1"
    managed = false
  }
}
