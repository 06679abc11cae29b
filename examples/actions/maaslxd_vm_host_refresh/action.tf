resource "maaslxd_vm_host" "kvm1" {
  name    = "kvm1"
  machine = "node1"
  deploy  = { image = "ubuntu/noble" }

  # After each change of the host, MAAS reads its storage pools again.
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
