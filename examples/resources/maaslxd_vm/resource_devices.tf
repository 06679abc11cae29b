# A VM with a GPU and a TPM of its VM host. It needs VMs that are made in LXD itself:
# composer = "lxd" in the provider block, or a MAAS without VM hosts.
resource "maaslxd_vm" "render" {
  name    = "render-1"
  vm_host = "lxd-a"

  # Instance options of LXD. Options that have an attribute of their own, such as
  # memory, are an error of the plan.
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

  # A GPU comes and goes while the VM is off.
  allow_stopping_for_update = true
}
