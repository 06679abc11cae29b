package gomaas

import (
	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// unservedOthers are calls for objects of machines and networks that the simulator does
// not have.
var unservedOthers = []unservedGroup{
	{"there are no devices", map[string]func(*client.Client, string) error{
		"Device.Delete": func(c *client.Client, _ string) error { return c.Device.Delete("abcdef") },
		"Device.Get":    func(c *client.Client, _ string) error { return errorOf(c.Device.Get("abcdef")) },
		"Device.SetWorkloadAnnotations": func(c *client.Client, _ string) error {
			return errorOf(c.Device.SetWorkloadAnnotations("abcdef", map[string]string{"a": "b"}))
		},
		"Device.Update": func(c *client.Client, _ string) error {
			return errorOf(c.Device.Update("abcdef", &entity.DeviceUpdateParams{}))
		},
		"Devices.Create": func(c *client.Client, _ string) error {
			return errorOf(c.Devices.Create(&entity.DeviceCreateParams{Hostname: "printer"}))
		},
		"Devices.Get":       func(c *client.Client, _ string) error { return errorOf(c.Devices.Get()) },
		"NodeDevice.Delete": func(c *client.Client, m string) error { return c.NodeDevice.Delete(m, 1) },
		"NodeDevice.Get":    func(c *client.Client, m string) error { return errorOf(c.NodeDevice.Get(m, 1)) },
		"NodeDevices.Get": func(c *client.Client, m string) error {
			return errorOf(c.NodeDevices.Get(m, &entity.NodeDeviceParams{}))
		},
	}},
	{"the rack controller is one of its model", map[string]func(*client.Client, string) error{
		"RackController.Abort":              func(c *client.Client, _ string) error { return errorOf(c.RackController.Abort("abcdef", "why")) },
		"RackController.Delete":             func(c *client.Client, _ string) error { return c.RackController.Delete("abcdef") },
		"RackController.Details":            func(c *client.Client, _ string) error { return errorOf(c.RackController.Details("abcdef")) },
		"RackController.GetPowerParameters": func(c *client.Client, _ string) error { return errorOf(c.RackController.GetPowerParameters("abcdef")) },
		"RackController.GetPowerState":      func(c *client.Client, _ string) error { return errorOf(c.RackController.GetPowerState("abcdef")) },
		"RackController.OverrideFailedTesting": func(c *client.Client, _ string) error {
			return errorOf(c.RackController.OverrideFailedTesting("abcdef", "why"))
		},
		"RackController.PowerOff": func(c *client.Client, _ string) error {
			return errorOf(c.RackController.PowerOff("abcdef", &entity.RackControllerPowerOffParams{}))
		},
		"RackController.PowerOn": func(c *client.Client, _ string) error {
			return errorOf(c.RackController.PowerOn("abcdef", &entity.RackControllerPowerOnParams{}))
		},
		"RackController.Update": func(c *client.Client, _ string) error {
			return errorOf(c.RackController.Update("abcdef", &entity.RackControllerParams{}, nil))
		},
		"RackControllers.DescribePowerTypes": func(c *client.Client, _ string) error { return errorOf(c.RackControllers.DescribePowerTypes()) },
		"RackControllers.IsRegistered": func(c *client.Client, _ string) error {
			return errorOf(c.RackControllers.IsRegistered("52:54:00:00:00:01"))
		},
		"RackControllers.SetZone": func(c *client.Client, _ string) error {
			return c.RackControllers.SetZone(&entity.RackControllerSetZoneParams{Zone: "az1", Nodes: []string{"abcdef"}})
		},
	}},
	{"machines have the network of their model", map[string]func(*client.Client, string) error{
		"ReservedIP.Delete": func(c *client.Client, _ string) error { return c.ReservedIP.Delete(1) },
		"ReservedIP.Get":    func(c *client.Client, _ string) error { return errorOf(c.ReservedIP.Get(1)) },
		"ReservedIP.Update": func(c *client.Client, _ string) error {
			return errorOf(c.ReservedIP.Update(1, &entity.ReservedIPUpdateParams{}))
		},
		"ReservedIPs.Create": func(c *client.Client, _ string) error {
			return errorOf(c.ReservedIPs.Create(&entity.ReservedIPCreateParams{IP: "10.77.0.9"}))
		},
		"ReservedIPs.Get": func(c *client.Client, _ string) error { return errorOf(c.ReservedIPs.Get()) },
	}},
}
