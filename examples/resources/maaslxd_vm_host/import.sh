# By the system id, the hostname or the FQDN of its machine, or by its own name.
terraform import maaslxd_vm_host.node1 4y3h7n
terraform import maaslxd_vm_host.node1 node1
terraform import maaslxd_vm_host.node1 node1.example.com
terraform import maaslxd_vm_host.node1 kvm-1
