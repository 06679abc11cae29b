package gomaas

import (
	"strconv"
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
	"github.com/canonical/gomaasclient/entity/subnet"
)

// subnetNamed is the subnet with a name, from the list.
func subnetNamed(c *client.Client, name string) entity.Subnet {
	for _, s := range must(c.Subnets.Get()) {
		if s.Name == name {
			return s
		}
	}
	panic(testFailure{"there is no subnet " + name})
}

// bootNICID is the id of a machine's boot interface.
func bootNICID(c *client.Client, machine string) int {
	return must(c.Machine.Get(machine)).BootInterface.ID
}

func TestSubnets(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.Subnets.Create(&entity.SubnetParams{CIDR: "10.79.0.0/24", Name: "third", GatewayIP: "10.79.0.1", Managed: true, AllowDNS: true}))
		s := must(c.Subnet.Get(made.ID))
		wantSame(t, "the CIDR", s.CIDR, "10.79.0.0/24")
		wantSame(t, "the gateway", s.GatewayIP.String(), "10.79.0.1")
		stats := must(c.Subnet.GetStatistics(s.ID))
		wantSame(t, "the number of addresses", stats.TotalAddresses, 254)
		wantSame(t, "the purpose of the only range in use", must(c.Subnet.GetReservedIPRanges(s.ID))[0].Purpose[0], "gateway-ip")
		wantSame(t, "the first free address", must(c.Subnet.GetUnreservedIPRanges(s.ID))[0].Start.String(), "10.79.0.2")
		must(c.IPAddresses.Reserve(&entity.IPAddressesParams{Subnet: "10.79.0.0/24", IP: "10.79.0.9"}))
		taken := names(must(c.Subnet.GetIPAddresses(s.ID)), func(a subnet.IPAddress) string { return a.IP.String() })
		wantContains(t, "the addresses in use", taken, "10.79.0.9", true)
	})
}

func TestFabricsRead(t *testing.T) {
	startClient(t, func(c *client.Client) {
		lan := subnetNamed(c, "lan")
		f := must(c.Fabric.Get(lan.VLAN.FabricID))
		wantContains(t, "the fabrics", names(must(c.Fabrics.Get()), func(f entity.Fabric) string { return f.Name }), f.Name, true)
		wantSame(t, "the first VLAN's id", must(c.VLANs.Get(f.ID))[0].ID, lan.VLAN.ID)
	})
}

func TestIPRanges(t *testing.T) {
	startClient(t, func(c *client.Client) {
		s := subnetNamed(c, "storage")
		made := must(c.IPRanges.Create(&entity.IPRangeParams{
			Type: "reserved", Subnet: strconv.Itoa(s.ID), StartIP: "10.78.0.10", EndIP: "10.78.0.19", Comment: "printers",
		}))
		r := must(c.IPRange.Get(made.ID))
		wantSame(t, "the comment", r.Comment, "printers")
		wantSame(t, "the start", r.StartIP.String(), "10.78.0.10")
		id := func(r entity.IPRange) string { return strconv.Itoa(r.ID) }
		wantContains(t, "the ranges", names(must(c.IPRanges.Get()), id), strconv.Itoa(r.ID), true)
		mustSucceed(c.IPRange.Delete(r.ID))
		wantContains(t, "the ranges", names(must(c.IPRanges.Get()), id), strconv.Itoa(r.ID), false)
	})
}

func TestIPAddresses(t *testing.T) {
	startClient(t, func(c *client.Client) {
		a := must(c.IPAddresses.Reserve(&entity.IPAddressesParams{Subnet: "10.78.0.0/24"}))
		address := func(a entity.IPAddress) string { return a.IP.String() }
		wantContains(t, "the addresses", names(must(c.IPAddresses.Get(&entity.IPAddressesParams{})), address), a.IP.String(), true)
		mustSucceed(c.IPAddresses.Release(&entity.IPAddressesParams{IP: a.IP.String()}))
		wantContains(t, "the addresses", names(must(c.IPAddresses.Get(&entity.IPAddressesParams{})), address), a.IP.String(), false)
	})
}

func TestInterfaces(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		nics := must(c.NetworkInterfaces.Get(id))
		wantSame(t, "the number of interfaces", len(nics), 1)
		nic := nics[0]
		wantSame(t, "the MAC", must(c.NetworkInterface.Get(id, nic.ID)).MACAddress, nic.MACAddress)
		must(c.NetworkInterface.Disconnect(id, nic.ID))
		wantSame(t, "the number of links", len(must(c.NetworkInterface.Get(id, nic.ID)).Links), 0)
		must(c.NetworkInterface.LinkSubnet(id, nic.ID, &entity.NetworkInterfaceLinkParams{
			Mode: "STATIC", Subnet: subnetNamed(c, "lan").ID, IPAddress: "10.77.0.42",
		}))
		linked := must(c.NetworkInterface.Get(id, nic.ID))
		wantSame(t, "the address", linked.Links[0].IPAddress, "10.77.0.42")
		must(c.NetworkInterface.UnlinkSubnet(id, nic.ID, linked.Links[0].ID))
		for _, l := range must(c.NetworkInterface.Get(id, nic.ID)).Links {
			wantSame(t, "the address of a link that is left", l.IPAddress, "")
		}
		bridge := must(c.NetworkInterfaces.CreateBridge(id, &entity.NetworkInterfaceBridgeParams{Name: "br0", Parents: []int{nic.ID}}))
		wantSame(t, "the bridge's parent", must(c.NetworkInterface.Get(id, bridge.ID)).Parents[0], nic.Name)
		mustSucceed(c.NetworkInterface.Delete(id, bridge.ID))
		_, err := c.NetworkInterface.Get(id, bridge.ID)
		wantNotFound(t, "bridge", err)
	})
}

func TestInterfaceTags(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		nic := bootNICID(c, id)
		must(c.NetworkInterface.AddTag(id, nic, "uplink"))
		wantContains(t, "the tags", must(c.NetworkInterface.Get(id, nic)).Tags, "uplink", true)
		must(c.NetworkInterface.RemoveTag(id, nic, "uplink"))
		wantContains(t, "the tags", must(c.NetworkInterface.Get(id, nic)).Tags, "uplink", false)
	})
}

func TestDefaultGateways(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		nic := bootNICID(c, id)
		must(c.NetworkInterface.Disconnect(id, nic))
		for _, ip := range []string{"10.77.0.42", "10.77.0.43"} {
			must(c.NetworkInterface.LinkSubnet(id, nic, &entity.NetworkInterfaceLinkParams{
				Mode: "STATIC", Subnet: subnetNamed(c, "lan").ID, IPAddress: ip,
			}))
		}
		links := must(c.NetworkInterface.Get(id, nic)).Links
		chosen := func() int { return must(c.Machine.Get(id)).DefaultGateways.IPv4.LinkID }
		wantSame(t, "the link of a gateway that nobody chose", chosen(), 0)
		must(c.NetworkInterface.SetDefaultGateway(id, nic, links[1].ID))
		wantSame(t, "the link of the default gateway", chosen(), links[1].ID)
		must(c.Machine.ClearDefaultGateways(id))
		wantSame(t, "the link after that", chosen(), 0)
	})
}

func TestConfigurationRestored(t *testing.T) {
	restore := map[string]func(*client.Client, string) error{
		"Networking": func(c *client.Client, id string) error { return c.Machine.RestoreNetworkingConfiguration(id) },
		"Default":    func(c *client.Client, id string) error { return c.Machine.RestoreDefaultConfiguration(id) },
	}
	for name, call := range restore {
		t.Run(name, func(t *testing.T) {
			startClient(t, func(c *client.Client) {
				id := machineNamed(c, "metal1").SystemID
				nic := bootNICID(c, id)
				before := must(c.NetworkInterface.Get(id, nic)).Links
				must(c.NetworkInterfaces.CreateBridge(id, &entity.NetworkInterfaceBridgeParams{Name: "br0", Parents: []int{nic}}))
				mustSucceed(call(c, id))
				wantSame(t, "the number of interfaces", len(must(c.NetworkInterfaces.Get(id))), 1)
				after := must(c.NetworkInterface.Get(id, nic)).Links
				wantSame(t, "the number of links", len(after), len(before))
				wantSame(t, "the subnet", after[0].Subnet.CIDR, before[0].Subnet.CIDR)
			})
		})
	}
}
