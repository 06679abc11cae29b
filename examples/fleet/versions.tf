terraform {
  required_version = ">= 1.11"

  required_providers {
    maaslxd = {
      source = "maaslxd/maaslxd"
    }
  }
}
