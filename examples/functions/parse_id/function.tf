# The system ids of a cluster's Nodes, from their providerIDs.
variable "provider_ids" {
  type    = list(string)
  default = ["maas-lxd://az1/4y3h7n", "maas://az2/8wbxqe"]
}

output "system_ids" {
  value = [for id in var.provider_ids : provider::maaslxd::parse_id(id).system_id]
}
