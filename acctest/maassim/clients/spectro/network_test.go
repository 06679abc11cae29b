package spectro

import (
	"strconv"
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

// bootNIC is the current state of a machine's boot interface.
func bootNIC(t *testing.T, m maas.Machine) maas.NetworkInterface {
	t.Helper()
	return must(newClient().NetworkInterfaces().Interface(m.SystemID(), m.BootInterfaceID()).Get(t.Context()))
}

func TestInterfaces(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		m := machineNamed(t, "metal1")
		first := must(c.NetworkInterfaces().Get(t.Context(), m.SystemID()))[0]
		wantSame(t, "the id", first.ID(), m.BootInterfaceID())
		wantSame(t, "the name", first.Name(), m.BootInterfaceName())
		wantSame(t, "the type", first.Type(), "physical")
		wantSame(t, "that it is enabled", first.Enabled(), true)
		wantSame(t, "that it has a MAC", first.MACAddress() != "", true)
		wantSame(t, "the number of children", len(first.Children()), 0)
		vlan := first.VLAN()
		wantSame(t, "the VLAN's tag", vlan.VID(), 0)
		wantSame(t, "the VLAN's MTU", vlan.MTU(), 1500)
		wantSame(t, "that DHCP is on", vlan.IsDHCPOn(), true)
		wantSame(t, "that the VLAN's fabric has a name", vlan.FabricName() != "", true)
		wantSame(t, "the VLAN's fabric by its subnet", vlan.FabricID(), first.Links()[0].Subnet().VLAN().FabricID())
	})
}

func TestInterfaceLinked(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		m := machineNamed(t, "metal1")
		link := bootNIC(t, m).Links()[0]
		subnet := link.Subnet()
		wantSame(t, "the subnet", subnet.Name(), "lan")
		wantSame(t, "the space", subnet.Space(), "undefined")
		id := strconv.Itoa(subnet.ID())
		mustSucceed(bootNIC(t, m).UnlinkSubnet(t.Context(), link.ID()))
		mustSucceed(bootNIC(t, m).LinkSubnet(t.Context(), id, "10.77.0.42"))
		links := bootNIC(t, m).Links()
		link = links[len(links)-1]
		wantSame(t, "the mode", link.Mode(), "static")
		wantSame(t, "the address", link.IPAddress().String(), "10.77.0.42")
		address := "10.77.0.43"
		mustSucceed(bootNIC(t, m).UpdateIPConfiguration(t.Context(), maas.IPConfigurationUpdate{LinkID: link.ID(), Mode: "static", IPAddress: &address, SubnetID: &id}))
		links = bootNIC(t, m).Links()
		wantSame(t, "the address", links[len(links)-1].IPAddress().String(), "10.77.0.43")
		mustSucceed(bootNIC(t, m).SetStaticIP(t.Context(), "10.77.0.44"))
		wantContains(t, "the addresses", addresses(bootNIC(t, m)), "10.77.0.44", true)
		mustSucceed(c.NetworkInterfaces().SetBootInterfaceStaticIP(t.Context(), m.SystemID(), "10.77.0.45"))
		wantContains(t, "the addresses", addresses(bootNIC(t, m)), "10.77.0.45", true)
		mustSucceed(bootNIC(t, m).SetDHCP(t.Context(), id))
		wantContains(t, "the modes", names(bootNIC(t, m).Links(), maas.NetworkInterfaceLink.Mode), "dhcp", true)
	})
}

// addresses are the addresses of an interface's links.
func addresses(n maas.NetworkInterface) []string {
	return names(n.Links(), func(l maas.NetworkInterfaceLink) string { return l.IPAddress().String() })
}

func TestBridges(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		one, two := machineNamed(t, "metal1"), machineNamed(t, "metal2")
		made := must(c.NetworkInterfaces().CreateBridge(t.Context(), one.SystemID(), "br0", one.BootInterfaceID()))
		wantSame(t, "the type", must(made.Get(t.Context())).Type(), "bridge")
		wantContains(t, "the children", bootNIC(t, one).Children(), "br0", true)
		must(c.NetworkInterfaces().CreateBootInterfaceBridge(t.Context(), two.SystemID(), "br1"))
		wantContains(t, "the children", bootNIC(t, two).Children(), "br1", true)
	})
}

func TestIPAddresses(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		address := func(a maas.IPAddress) string { return a.IP().String() }
		all := func() []string {
			return names(must(newClient().IPAddresses().List(t.Context(), maas.ParamsBuilder())), address)
		}
		for name, free := range map[string]func(string) error{
			"10.77.0.50": func(ip string) error { return c.IPAddresses().Release(t.Context(), ip) },
			"10.77.0.51": func(ip string) error { return c.IPAddresses().ForceRelease(t.Context(), ip) },
		} {
			record := must(c.DNSResources().Builder().WithFQDN("a.example").WithAddressTTL("10").WithIPAddresses([]string{name}).Create(t.Context()))
			wantSame(t, "the address", must(c.IPAddresses().Get(t.Context(), name)).IP().String(), name)
			wantSame(t, "the interfaces with the address", len(must(c.IPAddresses().GetAll(t.Context(), name)).InterfaceSet()), 0)
			mustSucceed(record.Delete(t.Context()))
			wantContains(t, "the addresses", all(), name, true)
			mustSucceed(free(name))
			wantContains(t, "the addresses", all(), name, false)
		}
	})
}

func TestDNSResources(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		made := must(c.DNSResources().Builder().WithName("api").WithDomain("example").WithAddressTTL("10").WithIPAddresses([]string{"10.77.0.50"}).Create(t.Context()))
		d := must(c.DNSResources().DNSResource(made.ID()).Get(t.Context()))
		wantSame(t, "the name", d.FQDN(), "api.example")
		wantSame(t, "the TTL", d.AddressTTL(), 10)
		wantSame(t, "the address", d.IPAddresses()[0].IP().String(), "10.77.0.50")
		must(d.Modifier().SetName("web").SetDomain("example").SetAddressTTL(20).SetIPAddresses([]string{"10.77.0.51"}).Modify(t.Context()))
		d = must(c.DNSResources().DNSResource(made.ID()).Get(t.Context()))
		wantSame(t, "the name", d.FQDN(), "web.example")
		wantSame(t, "the TTL", d.AddressTTL(), 20)
		wantSame(t, "the address", d.IPAddresses()[0].IP().String(), "10.77.0.51")
		must(d.Modifier().SetFQDN("www.example").Modify(t.Context()))
		list := must(c.DNSResources().List(t.Context(), maas.ParamsBuilder().Set("domain", "example")))
		wantContains(t, "the names", names(list, maas.DNSResource.FQDN), "www.example", true)
		mustSucceed(d.Delete(t.Context()))
		list = must(c.DNSResources().List(t.Context(), maas.ParamsBuilder().Set("domain", "example")))
		wantContains(t, "the names", names(list, maas.DNSResource.FQDN), "www.example", false)
	})
}
