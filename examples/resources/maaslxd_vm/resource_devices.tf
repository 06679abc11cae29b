# A VM with a GPU and a TPM of its VM host. Devices need VMs that are made in LXD
# itself: composer = "lxd" in the provider block, or a MAAS without VM hosts.
resource "maaslxd_vm" "render" {
  name    = "render-1"
  vm_host = "lxd-a"

  # Instance options of LXD. With an option that has an attribute of its own, such as
  # memory, the plan fails.
  config = {
    "boot.autostart" = "true"
    "user.team"      = "studio"
  }

  devices = {
    card = {
      type       = "gpu"
      properties = { pci = "0000:01:00.0" }
    }
    tpm0 = { type = "tpm" }
  }

  # LXD adds and removes a GPU only while the VM is off.
  allow_stopping_for_update = true
}
