package gomaas

import (
	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// unservedSettings are calls for what a model says of the region.
var unservedSettings = []group{
	{"images are those of the model", map[string]func(*client.Client, string) error{
		"BootResource.Delete":      func(c *client.Client, _ string) error { return c.BootResource.Delete(1) },
		"BootResource.Get":         func(c *client.Client, _ string) error { return result(c.BootResource.Get(1)) },
		"BootResources.Import":     func(c *client.Client, _ string) error { return c.BootResources.Import() },
		"BootResources.StopImport": func(c *client.Client, _ string) error { return c.BootResources.StopImport() },
		"BootSource.Delete":        func(c *client.Client, _ string) error { return c.BootSource.Delete(1) },
		"BootSource.Get":           func(c *client.Client, _ string) error { return result(c.BootSource.Get(1)) },
		"BootSource.Update": func(c *client.Client, _ string) error {
			return result(c.BootSource.Update(1, &entity.BootSourceParams{}))
		},
		"BootSourceSelection.Delete": func(c *client.Client, _ string) error { return c.BootSourceSelection.Delete(1, 1) },
		"BootSourceSelection.Get":    func(c *client.Client, _ string) error { return result(c.BootSourceSelection.Get(1, 1)) },
		"BootSourceSelection.Update": func(c *client.Client, _ string) error {
			return result(c.BootSourceSelection.Update(1, 1, &entity.BootSourceSelectionParams{}))
		},
		"BootSourceSelections.Create": func(c *client.Client, _ string) error {
			return result(c.BootSourceSelections.Create(1, &entity.BootSourceSelectionParams{}))
		},
		"BootSourceSelections.Get": func(c *client.Client, _ string) error { return result(c.BootSourceSelections.Get(1)) },
		"BootSources.Create": func(c *client.Client, _ string) error {
			return result(c.BootSources.Create(&entity.BootSourceParams{}))
		},
		"BootSources.Get": func(c *client.Client, _ string) error { return result(c.BootSources.Get()) },
	}},
	{"settings that nothing in the simulator reads", map[string]func(*client.Client, string) error{
		"LicenseKeys.Create": func(c *client.Client, _ string) error {
			return result(c.LicenseKeys.Create(&entity.LicenseKeyParams{}))
		},
		"LicenseKeys.Get":      func(c *client.Client, _ string) error { return result(c.LicenseKeys.Get()) },
		"NodeScript.AddTag":    func(c *client.Client, _ string) error { return result(c.NodeScript.AddTag("smartctl", "t")) },
		"NodeScript.Delete":    func(c *client.Client, _ string) error { return c.NodeScript.Delete("smartctl") },
		"NodeScript.Download":  func(c *client.Client, _ string) error { return result(c.NodeScript.Download("smartctl", 1)) },
		"NodeScript.Get":       func(c *client.Client, _ string) error { return result(c.NodeScript.Get("smartctl", false)) },
		"NodeScript.RemoveTag": func(c *client.Client, _ string) error { return result(c.NodeScript.RemoveTag("smartctl", "t")) },
		"NodeScript.Revert":    func(c *client.Client, _ string) error { return result(c.NodeScript.Revert("smartctl", 1)) },
		"NodeScript.Update": func(c *client.Client, _ string) error {
			return result(c.NodeScript.Update("smartctl", &entity.NodeScriptParams{}, nil))
		},
		"NodeScripts.Create": func(c *client.Client, _ string) error {
			return result(c.NodeScripts.Create(&entity.NodeScriptParams{Name: "s"}, []byte("#!/bin/sh\n")))
		},
		"NodeScripts.Get": func(c *client.Client, _ string) error {
			return result(c.NodeScripts.Get(&entity.NodeScriptReadParams{}))
		},
		"Notification.Delete":  func(c *client.Client, _ string) error { return c.Notification.Delete(1) },
		"Notification.Dismiss": func(c *client.Client, _ string) error { return c.Notification.Dismiss(1) },
		"Notification.Get":     func(c *client.Client, _ string) error { return result(c.Notification.Get(1)) },
		"Notification.Update": func(c *client.Client, _ string) error {
			return result(c.Notification.Update(1, &entity.NotificationParams{}))
		},
		"Notifications.Create": func(c *client.Client, _ string) error {
			return result(c.Notifications.Create(&entity.NotificationParams{Message: "hello"}))
		},
		"Notifications.Get": func(c *client.Client, _ string) error { return result(c.Notifications.Get()) },
		"PackageRepositories.Create": func(c *client.Client, _ string) error {
			return result(c.PackageRepositories.Create(&entity.PackageRepositoryParams{Name: "ppa"}))
		},
		"PackageRepositories.Get":  func(c *client.Client, _ string) error { return result(c.PackageRepositories.Get()) },
		"PackageRepository.Delete": func(c *client.Client, _ string) error { return c.PackageRepository.Delete(1) },
		"PackageRepository.Get":    func(c *client.Client, _ string) error { return result(c.PackageRepository.Get(1)) },
		"PackageRepository.Update": func(c *client.Client, _ string) error {
			return result(c.PackageRepository.Update(1, &entity.PackageRepositoryParams{}))
		},
	}},
}
