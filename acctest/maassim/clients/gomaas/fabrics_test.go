package gomaas

import (
	"strconv"
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

func TestFabrics(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.Fabrics.Create(&entity.FabricParams{Name: "fabric9"}))
		must(c.Fabric.Update(made.ID, &entity.FabricParams{Name: "fabric8"}))
		wantSame(t, "the name", must(c.Fabric.Get(made.ID)).Name, "fabric8")
		must(c.VLANs.Create(made.ID, &entity.VLANParams{VID: 9, Name: "nine", MTU: 1500}))
		wantSame(t, "the VLAN's name", must(c.VLAN.Get(made.ID, 9)).Name, "nine")
		must(c.VLAN.Update(made.ID, 9, &entity.VLANParams{VID: 9, Name: "eight", MTU: 9000}))
		wantSame(t, "the VLAN's MTU", must(c.VLAN.Get(made.ID, 9)).MTU, 9000)
		mustSucceed(c.VLAN.Delete(made.ID, 9))
		_, err := c.VLAN.Get(made.ID, 9)
		wantNotFound(t, "VLAN", err)
		mustSucceed(c.Fabric.Delete(made.ID))
		_, err = c.Fabric.Get(made.ID)
		wantNotFound(t, "fabric", err)
	})
}

func TestSpaces(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.Spaces.Create("space9"))
		must(c.Space.Update(made.ID, "space8"))
		wantSame(t, "the name", must(c.Space.Get(made.ID)).Name, "space8")
		name := func(s entity.Space) string { return s.Name }
		wantContains(t, "the spaces", names(must(c.Spaces.Get()), name), "space8", true)
		mustSucceed(c.Space.Delete(made.ID))
		wantContains(t, "the spaces", names(must(c.Spaces.Get()), name), "space8", false)
	})
}

func TestStaticRoutes(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.StaticRoutes.Create(&entity.StaticRouteParams{Source: "10.77.0.0/24", Destination: "10.78.0.0/24", GatewayIP: "10.77.0.1", Metric: 5}))
		wantSame(t, "the metric", must(c.StaticRoute.Get(made.ID)).Metric, 5)
		must(c.StaticRoute.Update(made.ID, &entity.StaticRouteParams{Source: "10.77.0.0/24", Destination: "10.78.0.0/24", GatewayIP: "10.77.0.1", Metric: 7}))
		wantSame(t, "the metric", must(c.StaticRoutes.Get())[0].Metric, 7)
		mustSucceed(c.StaticRoute.Delete(made.ID))
		wantSame(t, "the number of routes", len(must(c.StaticRoutes.Get())), 0)
	})
}

func TestSubnetChanged(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := must(c.Subnets.Create(&entity.SubnetParams{CIDR: "10.79.0.0/24", Name: "third", Managed: true})).ID
		must(c.Subnet.Update(id, &entity.SubnetParams{CIDR: "10.79.0.0/24", Name: "fourth", GatewayIP: "10.79.0.1", Managed: true}))
		s := must(c.Subnet.Get(id))
		wantSame(t, "the name", s.Name, "fourth")
		wantSame(t, "the gateway", s.GatewayIP.String(), "10.79.0.1")
		from := strconv.Itoa(id)
		r := must(c.IPRanges.Create(&entity.IPRangeParams{Type: "reserved", Subnet: from, StartIP: "10.79.0.10", EndIP: "10.79.0.19"}))
		must(c.IPRange.Update(r.ID, &entity.IPRangeParams{Type: "reserved", Subnet: from, StartIP: "10.79.0.10", EndIP: "10.79.0.29", Comment: "printers"}))
		wantSame(t, "the end", must(c.IPRange.Get(r.ID)).EndIP.String(), "10.79.0.29")
		mustSucceed(c.Subnet.Delete(id))
		_, err := c.Subnet.Get(id)
		wantNotFound(t, "subnet", err)
	})
}

func TestInterfacesMade(t *testing.T) {
	startClient(t, func(c *client.Client) {
		m := machineNamed(c, "metal1")
		lan := subnetNamed(c, "lan").VLAN
		nic := must(c.NetworkInterfaces.CreatePhysical(m.SystemID, &entity.NetworkInterfacePhysicalParams{Name: "eth8", MACAddress: "52:54:00:00:00:08", VLAN: lan.ID}))
		must(c.NetworkInterface.Update(m.SystemID, nic.ID, &entity.NetworkInterfaceUpdateParams{Name: "eth9"}))
		wantSame(t, "the name", must(c.NetworkInterface.Get(m.SystemID, nic.ID)).Name, "eth9")
		bond := must(c.NetworkInterfaces.CreateBond(m.SystemID, &entity.NetworkInterfaceBondParams{Name: "bond0", Parents: []int{nic.ID}, BondMode: "active-backup", MACAddress: "52:54:00:00:00:08"}))
		wantSame(t, "the bond's type", must(c.NetworkInterface.Get(m.SystemID, bond.ID)).Type, "bond")
		tagged := must(c.VLANs.Create(lan.FabricID, &entity.VLANParams{VID: 9, Name: "nine", MTU: 1500}))
		vlan := must(c.NetworkInterfaces.CreateVLAN(m.SystemID, &entity.NetworkInterfaceVLANParams{VLAN: tagged.ID, Parents: []int{bond.ID}}))
		wantSame(t, "the VLAN of the interface", must(c.NetworkInterface.Get(m.SystemID, vlan.ID)).VLAN.VID, 9)
	})
}
