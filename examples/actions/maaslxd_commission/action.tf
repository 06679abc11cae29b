# After a disk was added: terraform apply -invoke=action.maaslxd_commission.node1
action "maaslxd_commission" "node1" {
  config {
    machine  = "node1"
    timeouts = { invoke = "45m" }
  }
}
