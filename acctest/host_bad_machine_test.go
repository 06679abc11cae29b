package acctest_test

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// withNode1Status gives node1 another status.
func withNode1Status(status string) func(*sim.Model) {
	return func(m *sim.Model) { m.Machines[0].Status = status }
}

// makeNode1ARM makes node1 a machine of another architecture than the images'.
func makeNode1ARM(m *sim.Model) { m.Machines[0].Architecture = "arm64/generic" }

// TestAccHostBadMachine: machines that cannot become hosts, and hosts that do
// not fit their machines. None is allocated.
func TestAccHostBadMachine(t *testing.T) {
	t.Parallel()
	testRefusedHosts(t, map[string]badHost{
		"UnknownMachine":   {reason: "MAAS has no such machine.", body: vmHost("kvm", `machine = "node9"`), at: "machine", want: `Cannot create VM host kvm machine: MAAS has no machine "node9" Give a hostname, an FQDN or a system id`},
		"MachineNew":       {reason: "MAAS has not commissioned the machine yet.", world: withNode1Status("New"), body: hostOnNode1(), at: "machine", want: `machine: machine node1 is not Ready but New. Commission it in MAAS`},
		"MachineAllocated": {reason: "Somebody allocated the machine, perhaps to deploy it next.", world: withNode1Status("Allocated"), body: hostOnNode1(), at: "machine", want: `machine: machine node1 is not Ready but Allocated, and belongs to the MAAS user admin release it if nobody needs it`},
		"MachineDeployed":  {reason: "Somebody uses the machine.", world: withNode1Status("Deployed"), body: hostOnNode1(), at: "machine", want: `machine node1 is not Ready but Deployed, and belongs adopt it`},
		"MachineBroken":    {reason: "An operator must look at a Broken machine.", world: withNode1Status("Broken"), body: hostOnNode1(), at: "machine", want: `machine node1 is not Ready but Broken release it if nobody needs it, or choose another`},
		"AdoptReady":       {reason: "Only a Deployed machine can be adopted.", body: vmHost("kvm", `machine = "node1"`, `adopt = true`), at: "machine", want: `Only a Deployed machine can be adopted`},
		"OtherArchitecture": {
			reason: "No machine has this architecture.", body: vmHost("kvm", `selector = { architecture = "arm64" }`),
			at: "selector", want: `none of Ready machines architecture arm64`,
		},
		"ImageArchitecture":    {reason: "MAAS itself reports the wrong architecture only at the deployment, as a missing kernel.", world: makeNode1ARM, body: hostOnNode1(), at: "machine", want: `machine: machine node1 has the architecture arm64/generic, but MAAS has ubuntu/noble for amd64 only. Choose another machine, name an image in deploy.image`},
		"ImagesArchitecture":   {reason: "MAAS's default image has the wrong architecture, too.", world: makeNode1ARM, body: vmHost("kvm", `machine = "node1"`), at: "machine", want: `machine: machine node1 has the architecture arm64/generic, but MAAS has an image for amd64 only`},
		"AnyImageArchitecture": {reason: "A machine of this architecture exists, but no image for it.", world: makeNode1ARM, body: vmHost("kvm", `selector = { architecture = "arm64" }`, deployNoble), at: "selector", want: `selector: machine node1 has the architecture arm64/generic, but MAAS has ubuntu/noble for amd64 only`},
		"NoDisk":               {reason: "The machine has no disk to install on.", world: func(m *sim.Model) { m.Machines[0].NoDisk = true }, body: hostOnNode1(), at: "machine", want: `machine: MAAS knows no disk of machine node1. Commission the machine again in MAAS, or choose another`},
		"NoNIC":                {reason: "MAAS cannot boot a machine without a network interface.", world: func(m *sim.Model) { m.Machines[0].NoNIC = true }, body: hostOnNode1(), at: "machine", want: `machine: MAAS knows no network interface of machine node1. Commission the machine again in MAAS, or choose another`},
		"NoneWithDisk": {
			reason: "The error names one unsuitable machine and counts the others.",
			world:  func(m *sim.Model) { m.Machines[0].NoDisk, m.Machines[1].NoDisk = true, true },
			body:   vmHost("kvm", `selector = { tags = ["metal"] }`, deployNoble), at: "selector",
			want: `selector: MAAS knows no disk of machine node1; none of the 1 other Ready machines that fit the selector is suitable either Commission`,
		},
		"TooMuchAsked":       {reason: "No machine has as many cores.", body: vmHost("kvm", `selector = { min_cores = 999 }`), at: "selector", want: `none of Ready machines at least 999 cores`},
		"UnknownDriver":      {reason: "An unknown driver is found without a call to MAAS.", body: withLXD(`storage_pools = { default = { driver = "ntfs" } }`), want: `driver value must be one of "zfs" got: "ntfs"`},
		"CephWithoutPool":    {reason: "A Ceph pool needs the names of its cluster and pool.", body: withLXD(`storage_pools = { default = { driver = "ceph" } }`), want: `storage_pools.default.ceph: the driver ceph needs a cluster and a pool. Give both`},
		"MissingSource":      {reason: "The source of a storage pool must be a disk.", body: withLXD(`storage_pools = { default = { driver = "zfs", source = "/srv/pool" } }`), want: `storage_pools.default.source: /srv/pool is not a disk /dev/disk/by-id`},
		"PoolBeyondDisk":     {reason: "The storage pools are larger than the disk, so LXD would fail at the first boot.", body: withLXD(`storage_pools = { default = { size_gb = 501 } }`), want: `storage_pools.default.size_gb: the storage pools take 501 GB largest disk of machine node1 has 500 GB. Make the pools smaller`},
		"PoolBeyondAllDisks": {reason: "A selector skips machines with disks that are too small, and here all are.", body: vmHost("kvm", `selector = {}`, deployNoble, `lxd = { storage_pools = { default = { size_gb = 501 } } }`), want: `storage_pools.default.size_gb: the storage pools take 501 GB none of the 2 other Ready machines`},
		"LongBridge":         {reason: "Linux accepts at most 15 characters, although MAAS accepts more.", body: hostOnNode1(`bridge = { name = "br-much-too-long" }`), at: "bridge", want: `bridge.name "br-much-too-long" has 16 characters. Linux takes at most 15`},
		"BridgeTaken":        {reason: "Another interface has this name.", body: hostOnNode1(`bridge = { name = "eth0" }`), at: "bridge", want: `bridge.name: machine node1 has another interface eth0. Choose another name`},
		"UnknownNIC":         {reason: "An unknown interface is named, and the known ones are listed.", body: hostOnNode1(`bridge = { nic = "eth9" }`), want: `bridge.nic interface "eth9" Known:`},
		"VLANWithoutDHCP":    {reason: "VMs cannot boot on a VLAN without DHCP.", body: hostOnNode1(`bridge = { subnet = "dark" }`), want: `bridge.subnet no DHCP on the VLAN of /24 turn DHCP on`},
		"UnknownSubnet":      {reason: "An unknown subnet is named.", body: hostOnNode1(`bridge = { subnet = "mars" }`), want: `bridge.subnet subnet "mars" /24`},
	})
}

// networkWithBond is a network with one bond, described by these lines, and one
// bridge on it.
func networkWithBond(interfaces string, lines ...string) string {
	return hostOnNode1(`network = {
    bonds = { bond0 = { interfaces = ` + interfaces + "\n" + strings.Join(lines, "\n") + ` } }
    bridges = { br0 = { parent = "bond0" } }
  }`)
}

// networkWithBridge is a network with one bridge, described by these lines.
func networkWithBridge(lines string) string {
	return hostOnNode1(`network = { bridges = { br0 = { ` + lines + ` } } }`)
}

// TestAccHostBadNetwork: networks that cannot be made. No machine is allocated.
func TestAccHostBadNetwork(t *testing.T) {
	t.Parallel()
	testRefusedHosts(t, map[string]badHost{
		"BesideBridge":   {reason: "Two descriptions of the network may contradict each other.", body: hostOnNode1(`bridge = { name = "br1" }`, `network = { bridges = { br0 = { parent = "eth0" } } }`), at: "bridge", want: `Two descriptions of the network Remove bridge`},
		"Adopted":        {reason: "An adopted host is not installed, so its network stays.", body: vmHost("kvm", `machine = "node1"`, `adopt = true`, `network = { bridges = { br0 = { parent = "eth0" } } }`), at: "network", want: `Nothing is installed on this host`},
		"Empty":          {reason: "Without a bridge, VMs have nothing to join.", body: hostOnNode1(`network = {}`), want: `network.bridges: VMs have no bridge to join. Describe one`},
		"NullBond":       {reason: "A bond cannot be null.", body: hostOnNode1(`network = { bonds = { bond0 = null }, bridges = { br0 = { parent = "eth0" } } }`), want: `Null Map Value contains a null value`},
		"NoInterfaces":   {reason: "A bond needs at least one interface.", body: networkWithBond(`[]`), want: `interfaces at least 1 elements`},
		"EmptyInterface": {reason: "The name of a NIC cannot be empty.", body: networkWithBond(`["eth0", ""]`), want: `It is empty. Give a name`},
		"UnknownMode":    {reason: "An unknown mode is found without a call to MAAS.", body: networkWithBond(`["eth0"]`, `mode = "lacp"`), want: `mode value must be one of "802.3ad" got: "lacp"`},
		"RateWithout":    {reason: "An LACP rate needs the mode that uses LACP.", body: networkWithBond(`["eth0"]`, `mode = "active-backup"`, `lacp_rate = "fast"`), want: `network.bonds.bond0.lacp_rate: only the mode 802.3ad has an LACP rate. Set mode`},
		"HugeMTU":        {reason: "Linux accepts no larger MTU.", body: networkWithBond(`["eth0"]`, `mtu = 9999999999`), want: `mtu value must be between 552 and 65535`},
		"HugeVLAN":       {reason: "The highest VLAN is 4094.", body: hostOnNode1(`network = { vlans = { v = { parent = "eth0", vlan = 4095 } }, bridges = { br0 = { parent = "eth0" } } }`), want: `vlan value must be between 1 and 4094`},
		"LongName":       {reason: "Linux accepts at most 15 characters, although MAAS accepts more.", body: hostOnNode1(`network = { bridges = { br-much-too-long = { parent = "eth0" } } }`), want: `the name "br-much-too-long" has 16 characters. Linux takes at most 15`},
		"NoSuchNIC":      {reason: "The bond names an interface that the machine lacks.", body: networkWithBond(`["eth0", "eth9"]`), want: `network.bonds.bond0.interfaces interface of node1 "eth9" Known: eth0`},
		"NoSuchParent":   {reason: "The bridge names a parent that the machine lacks.", body: networkWithBridge(`parent = "bond9"`), want: `network.bridges.br0.parent interface of node1 "bond9" Known: eth0`},
		"NoSuchVLAN":     {reason: "MAAS has no such VLAN on this fabric.", body: hostOnNode1(`network = { vlans = { v = { parent = "eth0", vlan = 77 } }, bridges = { br0 = { parent = "eth0" } } }`), want: `network.vlans.v.vlan VLAN "77"`},
		"NoSuchSubnet":   {reason: "An unknown subnet is named.", body: networkWithBridge(`parent = "eth0", links = [{ mode = "auto", subnet = "mars" }]`), want: `network.bridges.br0.links[0].subnet subnet "mars"`},
		"DarkSubnet":     {reason: "The subnet is on another VLAN.", body: networkWithBridge(`parent = "eth0", links = [{ mode = "auto", subnet = "dark" }]`), want: `network.bridges.br0.links[0].subnet not on the VLAN of br0`},
		"StaticNoIP":     {reason: "A static link needs an address.", body: networkWithBridge(`parent = "eth0", links = [{ mode = "static", subnet = "lan" }]`), want: `network.bridges.br0.links[0].ip: a static link has no address. Set ip`},
		"BadIP":          {reason: "The text is not an IP address.", body: networkWithBridge(`parent = "eth0", links = [{ mode = "static", subnet = "lan", ip = "ten" }]`), want: `"ten" is not an IP address`},
		"ForeignIP":      {reason: "The address is outside of the subnet.", body: networkWithBridge(`parent = "eth0", links = [{ mode = "static", subnet = "lan", ip = "192.0.2.9" }]`), want: `network.bridges.br0.links[0].ip 192.0.2.9 is not in`},
		"DHCPIP":         {reason: "DHCP gives the address.", body: networkWithBridge(`parent = "eth0", links = [{ mode = "dhcp", subnet = "lan", ip = "10.77.0.9" }]`), want: `network.bridges.br0.links[0].ip: the mode dhcp takes no address`},
		"DHCPGateway":    {reason: "MAAS takes no gateway from DHCP.", body: networkWithBridge(`parent = "eth0", links = [{ mode = "dhcp", subnet = "lan", default_gateway = true }]`), want: `network.bridges.br0.links[0].default_gateway: MAAS sets no default gateway in the mode dhcp`},
		"TwoGateways":    {reason: "A machine has one default gateway.", body: hostOnNode1(`network = { bridges = { br0 = { parent = "eth0", links = [{ mode = "auto", subnet = "lan", default_gateway = true }] }, br1 = { parent = "eth1", links = [{ mode = "auto", subnet = "lan", default_gateway = true }] } } }`), want: `is the default gateway already. Keep one`},
		"ParentMTU":      {reason: "An interface has at most the MTU of the one below it.", body: hostOnNode1(`network = { vlans = { v = { parent = "bond0", vlan = 100, mtu = 9000 } }, bonds = { bond0 = { interfaces = ["eth0"], mtu = 1500 } }, bridges = { br0 = { parent = "bond0" } } }`), want: `network.vlans.v.mtu: 9000 is more than the 1500 of bond0`},
		"NoGateway":      {reason: "The subnet has no gateway in MAAS.", body: networkWithBridge(`parent = "eth0", links = [{ mode = "auto", subnet = "lan", default_gateway = true }]`), want: `network.bridges.br0.links[0].default_gateway subnet has no gateway in MAAS`},
	})
}
