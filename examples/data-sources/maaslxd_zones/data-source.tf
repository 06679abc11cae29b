# The availability zones, to place a VM in each.
data "maaslxd_zones" "all" {}

output "zones" {
  value = data.maaslxd_zones.all.names
}
