resource "maaslxd_vm" "web" {
  name    = "web-1"
  vm_host = "kvm1"
  deploy  = { image = "ubuntu/noble" }

  # Each apply that changes the VM first takes a snapshot.
  lifecycle {
    action_trigger {
      events  = [before_update]
      actions = [action.maaslxd_snapshot.before_update]
    }
  }
}

action "maaslxd_snapshot" "before_update" {
  config {
    machine    = "web-1"
    name       = "before-update"
    replace    = true
    expires_in = "168h"
  }
}
