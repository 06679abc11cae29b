# The DNS domains.
data "maaslxd_domains" "all" {}

output "domains" {
  value = data.maaslxd_domains.all.names
}
