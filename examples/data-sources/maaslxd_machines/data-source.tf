# Bare metal that could become VM hosts.
data "maaslxd_machines" "ready" {
  filter = {
    status    = "Ready"
    virtual   = false
    min_cores = 4
  }
}

output "ready" {
  value = data.maaslxd_machines.ready.machines[*].hostname
}
