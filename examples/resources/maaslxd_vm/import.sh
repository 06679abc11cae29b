# By system id, by hostname, or by FQDN:
terraform import maaslxd_vm.web 4y3h7n
terraform import maaslxd_vm.web web-1
terraform import maaslxd_vm.web web-1.example.com
