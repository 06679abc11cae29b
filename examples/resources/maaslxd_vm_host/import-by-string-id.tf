import {
  to = maaslxd_vm_host.node1
  id = "node1"
}
