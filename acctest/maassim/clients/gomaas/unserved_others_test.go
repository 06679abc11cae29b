package gomaas

import (
	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// unservedOthers are calls for what a machine or a network does not have.
var unservedOthers = []group{
	{"there are no devices", map[string]func(*client.Client, string) error{
		"Device.Delete": func(c *client.Client, _ string) error { return c.Device.Delete("abcdef") },
		"Device.Get":    func(c *client.Client, _ string) error { return result(c.Device.Get("abcdef")) },
		"Device.SetWorkloadAnnotations": func(c *client.Client, _ string) error {
			return result(c.Device.SetWorkloadAnnotations("abcdef", map[string]string{"a": "b"}))
		},
		"Device.Update": func(c *client.Client, _ string) error {
			return result(c.Device.Update("abcdef", &entity.DeviceUpdateParams{}))
		},
		"Devices.Create": func(c *client.Client, _ string) error {
			return result(c.Devices.Create(&entity.DeviceCreateParams{Hostname: "printer"}))
		},
		"Devices.Get":       func(c *client.Client, _ string) error { return result(c.Devices.Get()) },
		"NodeDevice.Delete": func(c *client.Client, m string) error { return c.NodeDevice.Delete(m, 1) },
		"NodeDevice.Get":    func(c *client.Client, m string) error { return result(c.NodeDevice.Get(m, 1)) },
		"NodeDevices.Get": func(c *client.Client, m string) error {
			return result(c.NodeDevices.Get(m, &entity.NodeDeviceParams{}))
		},
	}},
	{"there are no results of scripts", map[string]func(*client.Client, string) error{
		"NodeResults.Get": func(c *client.Client, m string) error {
			return result(c.NodeResults.Get(m, &entity.NodeResultParams{}))
		},
	}},
	{"the rack controller is one of its model", map[string]func(*client.Client, string) error{
		"RackController.Abort":              func(c *client.Client, _ string) error { return result(c.RackController.Abort("abcdef", "why")) },
		"RackController.Delete":             func(c *client.Client, _ string) error { return c.RackController.Delete("abcdef") },
		"RackController.Details":            func(c *client.Client, _ string) error { return result(c.RackController.Details("abcdef")) },
		"RackController.Get":                func(c *client.Client, _ string) error { return result(c.RackController.Get("abcdef")) },
		"RackController.GetPowerParameters": func(c *client.Client, _ string) error { return result(c.RackController.GetPowerParameters("abcdef")) },
		"RackController.GetPowerState":      func(c *client.Client, _ string) error { return result(c.RackController.GetPowerState("abcdef")) },
		"RackController.OverrideFailedTesting": func(c *client.Client, _ string) error {
			return result(c.RackController.OverrideFailedTesting("abcdef", "why"))
		},
		"RackController.PowerOff": func(c *client.Client, _ string) error {
			return result(c.RackController.PowerOff("abcdef", &entity.RackControllerPowerOffParams{}))
		},
		"RackController.PowerOn": func(c *client.Client, _ string) error {
			return result(c.RackController.PowerOn("abcdef", &entity.RackControllerPowerOnParams{}))
		},
		"RackController.Update": func(c *client.Client, _ string) error {
			return result(c.RackController.Update("abcdef", &entity.RackControllerParams{}, nil))
		},
		"RackControllers.DescribePowerTypes": func(c *client.Client, _ string) error { return result(c.RackControllers.DescribePowerTypes()) },
		"RackControllers.IsRegistered": func(c *client.Client, _ string) error {
			return result(c.RackControllers.IsRegistered("52:54:00:00:00:01"))
		},
		"RackControllers.SetZone": func(c *client.Client, _ string) error {
			return c.RackControllers.SetZone(&entity.RackControllerSetZoneParams{Zone: "az1", Nodes: []string{"abcdef"}})
		},
	}},
	{"machines have the network of their model", map[string]func(*client.Client, string) error{
		"DNSResourceRecord.Update": func(c *client.Client, _ string) error {
			return result(c.DNSResourceRecord.Update(1, &entity.DNSResourceRecordParams{TTL: 1}))
		},
		"Fabric.Delete": func(c *client.Client, _ string) error { return c.Fabric.Delete(0) },
		"Fabric.Update": func(c *client.Client, _ string) error {
			return result(c.Fabric.Update(0, &entity.FabricParams{Name: "f"}))
		},
		"Fabrics.Create": func(c *client.Client, _ string) error {
			return result(c.Fabrics.Create(&entity.FabricParams{Name: "f"}))
		},
		"IPRange.Update": func(c *client.Client, _ string) error { return result(c.IPRange.Update(1, &entity.IPRangeParams{})) },
		"NetworkInterface.Update": func(c *client.Client, m string) error {
			return result(c.NetworkInterface.Update(m, bootNIC(c, m), &entity.NetworkInterfaceUpdateParams{Name: "eth9"}))
		},
		"NetworkInterfaces.CreateBond": func(c *client.Client, m string) error {
			return result(c.NetworkInterfaces.CreateBond(m, &entity.NetworkInterfaceBondParams{Name: "bond0"}))
		},
		"NetworkInterfaces.CreatePhysical": func(c *client.Client, m string) error {
			return result(c.NetworkInterfaces.CreatePhysical(m, &entity.NetworkInterfacePhysicalParams{Name: "eth8"}))
		},
		"NetworkInterfaces.CreateVLAN": func(c *client.Client, m string) error {
			return result(c.NetworkInterfaces.CreateVLAN(m, &entity.NetworkInterfaceVLANParams{VLAN: 1}))
		},
		"ReservedIP.Delete": func(c *client.Client, _ string) error { return c.ReservedIP.Delete(1) },
		"ReservedIP.Get":    func(c *client.Client, _ string) error { return result(c.ReservedIP.Get(1)) },
		"ReservedIP.Update": func(c *client.Client, _ string) error {
			return result(c.ReservedIP.Update(1, &entity.ReservedIPUpdateParams{}))
		},
		"ReservedIPs.Create": func(c *client.Client, _ string) error {
			return result(c.ReservedIPs.Create(&entity.ReservedIPCreateParams{IP: "10.77.0.9"}))
		},
		"ReservedIPs.Get":    func(c *client.Client, _ string) error { return result(c.ReservedIPs.Get()) },
		"Space.Delete":       func(c *client.Client, _ string) error { return c.Space.Delete(0) },
		"Space.Get":          func(c *client.Client, _ string) error { return result(c.Space.Get(0)) },
		"Space.Update":       func(c *client.Client, _ string) error { return result(c.Space.Update(0, "s")) },
		"Spaces.Create":      func(c *client.Client, _ string) error { return result(c.Spaces.Create("s")) },
		"Spaces.Get":         func(c *client.Client, _ string) error { return result(c.Spaces.Get()) },
		"StaticRoute.Delete": func(c *client.Client, _ string) error { return c.StaticRoute.Delete(1) },
		"StaticRoute.Get":    func(c *client.Client, _ string) error { return result(c.StaticRoute.Get(1)) },
		"StaticRoute.Update": func(c *client.Client, _ string) error {
			return result(c.StaticRoute.Update(1, &entity.StaticRouteParams{}))
		},
		"StaticRoutes.Create": func(c *client.Client, _ string) error {
			return result(c.StaticRoutes.Create(&entity.StaticRouteParams{}))
		},
		"StaticRoutes.Get": func(c *client.Client, _ string) error { return result(c.StaticRoutes.Get()) },
		"Subnet.Delete":    func(c *client.Client, _ string) error { return c.Subnet.Delete(1) },
		"Subnet.Update": func(c *client.Client, _ string) error {
			return result(c.Subnet.Update(1, &entity.SubnetParams{Name: "s"}))
		},
		"VLAN.Delete": func(c *client.Client, _ string) error { return c.VLAN.Delete(0, 0) },
		"VLAN.Get":    func(c *client.Client, _ string) error { return result(c.VLAN.Get(0, 0)) },
		"VLAN.Update": func(c *client.Client, _ string) error {
			return result(c.VLAN.Update(0, 0, &entity.VLANParams{Name: "v"}))
		},
		"VLANs.Create": func(c *client.Client, _ string) error { return result(c.VLANs.Create(0, &entity.VLANParams{VID: 7})) },
	}},
	{"machines have no more of a life", map[string]func(*client.Client, string) error{
		"Machine.GetCurtinConfig":                func(c *client.Client, m string) error { return result(c.Machine.GetCurtinConfig(m)) },
		"Machine.ClearDefaultGateways":           func(c *client.Client, m string) error { return result(c.Machine.ClearDefaultGateways(m)) },
		"Machine.GetToken":                       func(c *client.Client, m string) error { return result(c.Machine.GetToken(m)) },
		"Machine.RestoreDefaultConfiguration":    func(c *client.Client, m string) error { return c.Machine.RestoreDefaultConfiguration(m) },
		"Machine.RestoreNetworkingConfiguration": func(c *client.Client, m string) error { return c.Machine.RestoreNetworkingConfiguration(m) },
		"Machine.RestoreStorageConfiguration":    func(c *client.Client, m string) error { return c.Machine.RestoreStorageConfiguration(m) },
		"Machines.AcceptAll":                     func(c *client.Client, _ string) error { return c.Machines.AcceptAll() },
	}},
}
