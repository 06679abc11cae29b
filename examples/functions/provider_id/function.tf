# The value of --provider-id for a kubelet on the VM 4y3h7n.
output "provider_id" {
  value = provider::maaslxd::provider_id("vm", "az1", "4y3h7n")
}
