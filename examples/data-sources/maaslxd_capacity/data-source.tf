# Room for three web servers. If there is less, the plan fails.
data "maaslxd_capacity" "web" {
  cores      = 2
  memory_mib = 4096
  disks      = [{ size_gb = 20 }]

  lifecycle {
    postcondition {
      condition     = self.vms >= 3
      error_message = join("; ", [for h in self.vm_hosts : "${h.name}: ${h.reason}" if h.reason != null])
    }
  }
}

output "room" {
  value = { for h in data.maaslxd_capacity.web.vm_hosts : h.name => h.vms }
}
