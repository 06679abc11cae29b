# Restore a snapshot: terraform apply -invoke=action.maaslxd_restore.web
action "maaslxd_restore" "web" {
  config {
    machine        = "web-1"
    name           = "before-update"
    allow_stopping = true
  }
}
