# By the system id, the hostname or the FQDN of the machine.
terraform import maaslxd_machine.db 4y3h7n
terraform import maaslxd_machine.db node1
terraform import maaslxd_machine.db node1.example.com
