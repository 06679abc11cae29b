# The subnets that VMs can boot from.
data "maaslxd_subnets" "dhcp" {
  filter = { dhcp = true }
}

output "subnets" {
  value = { for s in data.maaslxd_subnets.dhcp.subnets : s.name => s.cidr }
}
