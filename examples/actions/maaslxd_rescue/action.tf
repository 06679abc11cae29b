# Repair a machine: terraform apply -invoke=action.maaslxd_rescue.enter
action "maaslxd_rescue" "enter" {
  config {
    machine = "node1"
    rescue  = "enter"
  }
}

# Leave rescue mode: terraform apply -invoke=action.maaslxd_rescue.exit
action "maaslxd_rescue" "exit" {
  config {
    machine = "node1"
    rescue  = "exit"
  }
}
