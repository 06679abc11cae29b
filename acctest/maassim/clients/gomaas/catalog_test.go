package gomaas

import (
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

func TestZones(t *testing.T) {
	start(t, func(c *client.Client) {
		made := must(c.Zones.Create(&entity.ZoneParams{Name: "az3", Description: "third"}))
		same(t, "the description", must(c.Zone.Get("az3")).Description, "third")
		must(c.Zone.Update("az3", &entity.ZoneParams{Name: "az4"}))
		same(t, "the id after the rename", must(c.Zone.Get("az4")).ID, made.ID)
		zone := func(z entity.Zone) string { return z.Name }
		has(t, "the zones", names(must(c.Zones.Get()), zone), "az4", true)
		try(c.Zone.Delete("az4"))
		has(t, "the zones", names(must(c.Zones.Get()), zone), "az4", false)
		_, err := c.Zone.Get("az4")
		gone(t, "zone", err)
	})
}

func TestResourcePools(t *testing.T) {
	start(t, func(c *client.Client) {
		made := must(c.ResourcePools.Create(&entity.ResourcePoolParams{Name: "red", Description: "warm"}))
		same(t, "the description", must(c.ResourcePool.Get(made.ID)).Description, "warm")
		must(c.ResourcePool.Update(made.ID, &entity.ResourcePoolParams{Name: "green"}))
		same(t, "the name", must(c.ResourcePool.Get(made.ID)).Name, "green")
		pool := func(p entity.ResourcePool) string { return p.Name }
		has(t, "the pools", names(must(c.ResourcePools.Get()), pool), "green", true)
		try(c.ResourcePool.Delete(made.ID))
		has(t, "the pools", names(must(c.ResourcePools.Get()), pool), "green", false)
		same(t, "the id by the name", must(c.ResourcePool.GetByName("blue")).Name, "blue")
		must(c.ResourcePool.UpdateByName("blue", &entity.ResourcePoolParams{Name: "navy"}))
		try(c.ResourcePool.DeleteByName("navy"))
		has(t, "the pools", names(must(c.ResourcePools.Get()), pool), "navy", false)
	})
}

func TestTags(t *testing.T) {
	start(t, func(c *client.Client) {
		must(c.Tags.Create(&entity.TagParams{Name: "slow", Comment: "old disks", KernelOpts: "quiet"}))
		same(t, "the comment", must(c.Tag.Get("slow")).Comment, "old disks")
		must(c.Tag.Update("slow", &entity.TagParams{Name: "slow", Comment: "older disks"}))
		same(t, "the comment", must(c.Tag.Get("slow")).Comment, "older disks")
		tag := func(t entity.Tag) string { return t.Name }
		has(t, "the tags", names(must(c.Tags.Get()), tag), "slow", true)
		id := machine(c, "metal1").SystemID
		try(c.Tag.AddMachines("slow", []string{id}))
		has(t, "the machines of slow", names(must(c.Tag.GetMachines("slow")), hostname), "metal1", true)
		has(t, "the tags of metal1", must(c.Machine.Get(id)).TagNames, "slow", true)
		try(c.Tag.RemoveMachines("slow", []string{id}))
		has(t, "the tags of metal1", must(c.Machine.Get(id)).TagNames, "slow", false)
		try(c.Tag.Delete("slow"))
		has(t, "the tags", names(must(c.Tags.Get()), tag), "slow", false)
	})
}

func TestUsers(t *testing.T) {
	start(t, func(c *client.Client) {
		same(t, "the caller", must(c.Users.Whoami()).UserName, "admin")
		user := func(u entity.User) string { return u.UserName }
		has(t, "the users", names(must(c.Users.Get()), user), "user1", true)
		same(t, "that user1 is an admin", must(c.User.Get("user1")).IsSuperUser, false)
	})
}

func TestAbout(t *testing.T) {
	start(t, func(c *client.Client) {
		v := must(c.Version.Get())
		has(t, "the capabilities", v.Capabilities, "networks-management", true)
		try(c.MAASServer.Post("maas_name", "other"))
		same(t, "the setting maas_name", string(must(c.MAASServer.Get("maas_name"))), `"other"`)
	})
}

func TestBootResources(t *testing.T) {
	start(t, func(c *client.Client) {
		image := func(r entity.BootResource) string { return r.Name }
		has(t, "the images", names(must(c.BootResources.Get(&entity.BootResourcesReadParams{})), image), "ubuntu/noble", true)
		first := must(c.BootResources.Get(&entity.BootResourcesReadParams{}))[0]
		same(t, "the first image", must(c.BootResource.Get(first.ID)).Name, first.Name)
		same(t, "that images are imported", must(c.BootResources.IsImporting()), false)
	})
}

func TestRackControllers(t *testing.T) {
	start(t, func(c *client.Client) {
		racks := must(c.RackControllers.Get(&entity.RackControllersGetParams{}))
		same(t, "the number of racks", len(racks), 1)
		same(t, "the rack by its id", must(c.RackController.Get(racks[0].SystemID)).Hostname, racks[0].Hostname)
	})
}

func TestEvents(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal1").SystemID
		must(c.Machine.Deploy(id, &entity.MachineDeployParams{Comment: "for the events"}))
		settle(t)
		events := must(c.Events.Get(&entity.EventParams{ID: id, Limit: "100"}))
		types := names(events.Events, func(e entity.Event) string { return e.Type })
		has(t, "the types of events", types, "Deployed", true)
	})
}

func TestScriptResults(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal1").SystemID
		must(c.Machine.Deploy(id, &entity.MachineDeployParams{}))
		settle(t)
		runs := must(c.NodeResults.Get(id, &entity.NodeResultParams{}))
		same(t, "the number of runs", len(runs), 1)
		same(t, "the run", runs[0].TypeName+" "+runs[0].StatusName, "Installation Passed")
		same(t, "the script of an installation", runs[0].Results[0].Name, "/tmp/install.log")
	})
}
