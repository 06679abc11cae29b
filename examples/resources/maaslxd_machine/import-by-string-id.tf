import {
  to = maaslxd_machine.db
  id = "node1"
}
