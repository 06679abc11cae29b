terraform {
  required_version = ">= 1.11"
  required_providers {
    maaslxd = {
      source = "maaslxd/maaslxd"
    }
  }
}

variable "maas_api_key" {
  description = "API key of a MAAS administrator."
  type        = string
  sensitive   = true
  ephemeral   = true
}

# These values may come from the environment instead: MAAS_API_URL,
# MAAS_API_KEY, MAAS_API_CACERT, MAASLXD_LEDGER.
provider "maaslxd" {
  api_url = "https://maas.example.com:5443/MAAS"
  api_key = var.maas_api_key
  ca_cert = "/etc/ssl/certs/maas-ca.pem"

  # Marks the VMs of this configuration. Configurations that share a MAAS
  # should have different owners.
  owner = "team-a"

  # Where runs note what they have reserved. All configurations for one MAAS
  # that run on this machine should use one file.
  ledger = "/var/lib/maaslxd/ledger.db"
}
