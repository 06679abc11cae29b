# The images that can be deployed on amd64.
data "maaslxd_images" "amd64" {
  architecture = "amd64"
}

output "images" {
  value = data.maaslxd_images.amd64.names
}
