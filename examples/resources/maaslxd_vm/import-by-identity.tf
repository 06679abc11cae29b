# Terraform 1.12 or newer, OpenTofu 1.12 or newer.
import {
  to = maaslxd_vm.web
  identity = {
    system_id = "4y3h7n"
    # maas = "…" refuses the import in another MAAS. The data source maaslxd_region has the mark.
  }
}
