# The availability zones, to make something in each of them.
data "maaslxd_zones" "all" {}

output "zones" {
  value = data.maaslxd_zones.all.names
}
