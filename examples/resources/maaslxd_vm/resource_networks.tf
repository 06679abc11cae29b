# A VM on a network that VLAN and fabric choose. MAAS assigns its IPv4 address. It
# also has an IPv6 address on the same VLAN.
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
