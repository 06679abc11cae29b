# A VM whose network is chosen by VLAN and fabric. It has an IPv4 address that MAAS
# assigns, and an IPv6 address of the same VLAN besides.
resource "maaslxd_vm" "edge" {
  name    = "edge-1"
  vm_host = "lxd-a"

  interfaces = {
    eth0 = {
      vlan      = 0
      fabric    = "fabric-0"
      addresses = [{ subnet = "fd00:10::/64", ip = "fd00:10::11" }]
    }
  }

  deploy = {
    image = "ubuntu/noble"
  }
}
