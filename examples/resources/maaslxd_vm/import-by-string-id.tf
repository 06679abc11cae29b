import {
  to = maaslxd_vm.web
  id = "web-1"
}
