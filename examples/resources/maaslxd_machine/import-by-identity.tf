# Terraform 1.12 or newer, OpenTofu 1.12 or newer.
import {
  to = maaslxd_machine.db
  identity = {
    system_id = "4y3h7n"
  }
}
