# terraform query -generate-config-out=vms.tf writes the import blocks.
list "maaslxd_vm" "unmanaged" {
  provider         = maaslxd
  include_resource = true

  config {
    vm_host = "kvm1"
    managed = false
  }
}
