package spectro

import (
	"strconv"
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

// nic is the boot interface of a machine, as it is now.
func nic(t *testing.T, m maas.Machine) maas.NetworkInterface {
	t.Helper()
	return must(another().NetworkInterfaces().Interface(m.SystemID(), m.BootInterfaceID()).Get(t.Context()))
}

func TestInterfaces(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		m := machine(t, "metal1")
		first := must(c.NetworkInterfaces().Get(t.Context(), m.SystemID()))[0]
		same(t, "the id", first.ID(), m.BootInterfaceID())
		same(t, "the name", first.Name(), m.BootInterfaceName())
		same(t, "the type", first.Type(), "physical")
		same(t, "that it is enabled", first.Enabled(), true)
		same(t, "that it has a MAC", first.MACAddress() != "", true)
		same(t, "the number of children", len(first.Children()), 0)
		vlan := first.VLAN()
		same(t, "the VLAN's tag", vlan.VID(), 0)
		same(t, "the VLAN's MTU", vlan.MTU(), 1500)
		same(t, "that DHCP is on", vlan.IsDHCPOn(), true)
		same(t, "that the VLAN's fabric has a name", vlan.FabricName() != "", true)
		same(t, "the VLAN's fabric by its subnet", vlan.FabricID(), first.Links()[0].Subnet().VLAN().FabricID())
	})
}

func TestInterfaceLinked(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		m := machine(t, "metal1")
		link := nic(t, m).Links()[0]
		subnet := link.Subnet()
		same(t, "the subnet", subnet.Name(), "lan")
		same(t, "the space", subnet.Space(), "undefined")
		id := strconv.Itoa(subnet.ID())
		try(nic(t, m).UnlinkSubnet(t.Context(), link.ID()))
		try(nic(t, m).LinkSubnet(t.Context(), id, "10.77.0.42"))
		links := nic(t, m).Links()
		link = links[len(links)-1]
		same(t, "the mode", link.Mode(), "static")
		same(t, "the address", link.IPAddress().String(), "10.77.0.42")
		address := "10.77.0.43"
		try(nic(t, m).UpdateIPConfiguration(t.Context(), maas.IPConfigurationUpdate{LinkID: link.ID(), Mode: "static", IPAddress: &address, SubnetID: &id}))
		links = nic(t, m).Links()
		same(t, "the address", links[len(links)-1].IPAddress().String(), "10.77.0.43")
		try(nic(t, m).SetStaticIP(t.Context(), "10.77.0.44"))
		has(t, "the addresses", addresses(nic(t, m)), "10.77.0.44", true)
		try(c.NetworkInterfaces().SetBootInterfaceStaticIP(t.Context(), m.SystemID(), "10.77.0.45"))
		has(t, "the addresses", addresses(nic(t, m)), "10.77.0.45", true)
		try(nic(t, m).SetDHCP(t.Context(), id))
		has(t, "the modes", names(nic(t, m).Links(), maas.NetworkInterfaceLink.Mode), "dhcp", true)
	})
}

// addresses are those of the links of an interface.
func addresses(n maas.NetworkInterface) []string {
	return names(n.Links(), func(l maas.NetworkInterfaceLink) string { return l.IPAddress().String() })
}

func TestBridges(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		one, two := machine(t, "metal1"), machine(t, "metal2")
		made := must(c.NetworkInterfaces().CreateBridge(t.Context(), one.SystemID(), "br0", one.BootInterfaceID()))
		same(t, "the type", must(made.Get(t.Context())).Type(), "bridge")
		has(t, "the children", nic(t, one).Children(), "br0", true)
		must(c.NetworkInterfaces().CreateBootInterfaceBridge(t.Context(), two.SystemID(), "br1"))
		has(t, "the children", nic(t, two).Children(), "br1", true)
	})
}

func TestIPAddresses(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		address := func(a maas.IPAddress) string { return a.IP().String() }
		all := func() []string {
			return names(must(another().IPAddresses().List(t.Context(), maas.ParamsBuilder())), address)
		}
		for name, free := range map[string]func(string) error{
			"10.77.0.50": func(ip string) error { return c.IPAddresses().Release(t.Context(), ip) },
			"10.77.0.51": func(ip string) error { return c.IPAddresses().ForceRelease(t.Context(), ip) },
		} {
			record := must(c.DNSResources().Builder().WithFQDN("a.example").WithAddressTTL("10").WithIPAddresses([]string{name}).Create(t.Context()))
			same(t, "the address", must(c.IPAddresses().Get(t.Context(), name)).IP().String(), name)
			same(t, "the interfaces with the address", len(must(c.IPAddresses().GetAll(t.Context(), name)).InterfaceSet()), 0)
			try(record.Delete(t.Context()))
			has(t, "the addresses", all(), name, true)
			try(free(name))
			has(t, "the addresses", all(), name, false)
		}
	})
}

func TestDNSResources(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		made := must(c.DNSResources().Builder().WithName("api").WithDomain("example").WithAddressTTL("10").WithIPAddresses([]string{"10.77.0.50"}).Create(t.Context()))
		d := must(c.DNSResources().DNSResource(made.ID()).Get(t.Context()))
		same(t, "the name", d.FQDN(), "api.example")
		same(t, "the TTL", d.AddressTTL(), 10)
		same(t, "the address", d.IPAddresses()[0].IP().String(), "10.77.0.50")
		must(d.Modifier().SetName("web").SetDomain("example").SetAddressTTL(20).SetIPAddresses([]string{"10.77.0.51"}).Modify(t.Context()))
		d = must(c.DNSResources().DNSResource(made.ID()).Get(t.Context()))
		same(t, "the name", d.FQDN(), "web.example")
		same(t, "the TTL", d.AddressTTL(), 20)
		same(t, "the address", d.IPAddresses()[0].IP().String(), "10.77.0.51")
		must(d.Modifier().SetFQDN("www.example").Modify(t.Context()))
		list := must(c.DNSResources().List(t.Context(), maas.ParamsBuilder().Set("domain", "example")))
		has(t, "the names", names(list, maas.DNSResource.FQDN), "www.example", true)
		try(d.Delete(t.Context()))
		list = must(c.DNSResources().List(t.Context(), maas.ParamsBuilder().Set("domain", "example")))
		has(t, "the names", names(list, maas.DNSResource.FQDN), "www.example", false)
	})
}
