terraform {
  required_providers {
    maaslxd = {
      source = "maaslxd/maaslxd"
    }
    lxd = {
      source  = "terraform-lxd/lxd"
      version = ">= 3.0"
    }
  }
}

ephemeral "maaslxd_lxd_client" "kvm1" {
  vm_host = "kvm1"
}

provider "lxd" {
  address                        = ephemeral.maaslxd_lxd_client.kvm1.address
  client_certificate             = ephemeral.maaslxd_lxd_client.kvm1.client_certificate
  client_key                     = ephemeral.maaslxd_lxd_client.kvm1.client_key
  server_certificate_fingerprint = ephemeral.maaslxd_lxd_client.kvm1.server_fingerprint
}
