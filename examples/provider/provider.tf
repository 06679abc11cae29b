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

# Every value may come from the environment instead: MAAS_API_URL,
# MAAS_API_KEY, MAAS_API_CACERT.
provider "maaslxd" {
  api_url = "https://maas.example.com:5443/MAAS"
  api_key = var.maas_api_key
  ca_cert = "/etc/ssl/certs/maas-ca.pem"

  # Marks the VMs of this configuration. Configurations that share a MAAS
  # should have different owners.
  owner = "team-a"
}
