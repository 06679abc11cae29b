# The plan fails where the API key is not an administrator's.
data "maaslxd_region" "this" {
  lifecycle {
    postcondition {
      condition     = self.administrator
      error_message = "The API key is ${self.username}'s, who is no administrator."
    }
  }
}

output "maas" {
  value = "MAAS ${data.maaslxd_region.this.version}, VMs are made by ${data.maaslxd_region.this.composer}"
}
