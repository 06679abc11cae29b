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

# You can set these values in the environment instead: MAAS_API_URL,
# MAAS_API_KEY, MAAS_API_CACERT, MAASLXD_LEDGER.
provider "maaslxd" {
  api_url = "https://maas.example.com:5443/MAAS"
  api_key = var.maas_api_key
  ca_cert = "/etc/ssl/certs/maas-ca.pem"

  # Marks the VMs of this configuration. Give each configuration on one MAAS
  # an owner of its own.
  owner = "team-a"

  # The file with the reservations of all runs. Use one file for all
  # configurations for one MAAS that run on this machine.
  ledger = "/var/lib/maaslxd/ledger.db"
}
