# A host with two NICs on a switch with LACP. The host has its address on br0, on the
# untagged VLAN. VMs can also join br100, which is on VLAN 100 and has no address.
resource "maaslxd_vm_host" "bonded" {
  name    = "kvm-3"
  machine = "node1"

  network = {
    bonds = {
      bond0 = {
        interfaces       = ["eth0", "eth1"]
        mode             = "802.3ad"
        lacp_rate        = "fast"
        xmit_hash_policy = "layer3+4"
        mtu              = 9000
      }
    }
    vlans = {
      "bond0.100" = { parent = "bond0", vlan = 100 }
    }
    bridges = {
      br0 = {
        parent = "bond0"
        links  = [{ mode = "auto", subnet = "lan" }]
      }
      br100 = {
        parent = "bond0.100"
        links  = [{ mode = "link_up" }]
      }
    }
  }

  deploy = {
    image = "ubuntu/noble"
  }
}
