package gomaas

import (
	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// unservedSettings are calls for objects of the region that come from the model.
var unservedSettings = []unservedGroup{
	{"images are those of the model", map[string]func(*client.Client, string) error{
		"BootResource.Delete":      func(c *client.Client, _ string) error { return c.BootResource.Delete(1) },
		"BootResources.Import":     func(c *client.Client, _ string) error { return c.BootResources.Import() },
		"BootResources.StopImport": func(c *client.Client, _ string) error { return c.BootResources.StopImport() },
	}},
	{"settings that nothing in the simulator reads", map[string]func(*client.Client, string) error{
		"LicenseKeys.Create": func(c *client.Client, _ string) error {
			return errorOf(c.LicenseKeys.Create(&entity.LicenseKeyParams{}))
		},
		"LicenseKeys.Get":      func(c *client.Client, _ string) error { return errorOf(c.LicenseKeys.Get()) },
		"NodeScript.AddTag":    func(c *client.Client, _ string) error { return errorOf(c.NodeScript.AddTag("smartctl", "t")) },
		"NodeScript.Delete":    func(c *client.Client, _ string) error { return c.NodeScript.Delete("smartctl") },
		"NodeScript.Download":  func(c *client.Client, _ string) error { return errorOf(c.NodeScript.Download("smartctl", 1)) },
		"NodeScript.Get":       func(c *client.Client, _ string) error { return errorOf(c.NodeScript.Get("smartctl", false)) },
		"NodeScript.RemoveTag": func(c *client.Client, _ string) error { return errorOf(c.NodeScript.RemoveTag("smartctl", "t")) },
		"NodeScript.Revert":    func(c *client.Client, _ string) error { return errorOf(c.NodeScript.Revert("smartctl", 1)) },
		"NodeScript.Update": func(c *client.Client, _ string) error {
			return errorOf(c.NodeScript.Update("smartctl", &entity.NodeScriptParams{}, nil))
		},
		"NodeScripts.Create": func(c *client.Client, _ string) error {
			return errorOf(c.NodeScripts.Create(&entity.NodeScriptParams{Name: "s"}, []byte("#!/bin/sh\n")))
		},
		"NodeScripts.Get": func(c *client.Client, _ string) error {
			return errorOf(c.NodeScripts.Get(&entity.NodeScriptReadParams{}))
		},
	}},
}
