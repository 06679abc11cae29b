# Redeploy a VM: terraform apply -invoke=action.maaslxd_redeploy.web
action "maaslxd_redeploy" "web" {
  config {
    machine   = "web"
    image     = "ubuntu/noble"
    user_data = "#cloud-config\npackages: [nginx]\n"
  }
}
