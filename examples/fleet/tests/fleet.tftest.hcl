# Makes the fleet on the MAAS of MAAS_API_URL, checks it, grows it, and
# destroys it.
run "spreads" {
  assert {
    condition     = alltrue([for host in maaslxd_vm_host.all : host.status == "Deployed" && host.lxd_version != null])
    error_message = "A host is not ready: ${jsonencode({ for host in maaslxd_vm_host.all : host.name => host.status })}"
  }

  assert {
    condition     = alltrue([for vm in maaslxd_vm.all : vm.status == "Deployed"])
    error_message = "A VM is not deployed: ${jsonencode({ for vm in maaslxd_vm.all : vm.name => vm.status })}"
  }

  assert {
    condition     = length(distinct([for vm in maaslxd_vm.all : vm.vm_host_name])) == length(var.hosts)
    error_message = "A host has no VM: ${jsonencode(output.fleet)}"
  }

  assert {
    condition     = sum([for host in output.fleet : length(host.vms)]) == var.vms
    error_message = "VMs are missing from the table: ${jsonencode(output.fleet)}"
  }
}

run "grows" {
  variables {
    vms = 7
  }

  assert {
    condition     = length(output.addresses) == 7
    error_message = "Want seven VMs, got ${length(output.addresses)}."
  }
}
