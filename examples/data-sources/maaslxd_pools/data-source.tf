# The resource pools.
data "maaslxd_pools" "all" {}

output "pools" {
  value = data.maaslxd_pools.all.names
}
