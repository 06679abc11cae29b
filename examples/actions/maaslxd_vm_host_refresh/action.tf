resource "maaslxd_vm_host" "kvm1" {
  name    = "kvm1"
  machine = "node1"
  deploy  = { image = "ubuntu/noble" }

  # MAAS looks at the storage pools again whenever the host was changed.
  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.maaslxd_vm_host_refresh.kvm1]
    }
  }
}

action "maaslxd_vm_host_refresh" "kvm1" {
  config {
    vm_host = "kvm1"
  }
}
