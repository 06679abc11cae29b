package gomaas

import (
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

func TestZones(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.Zones.Create(&entity.ZoneParams{Name: "az3", Description: "third"}))
		wantSame(t, "the description", must(c.Zone.Get("az3")).Description, "third")
		must(c.Zone.Update("az3", &entity.ZoneParams{Name: "az4"}))
		wantSame(t, "the id after the rename", must(c.Zone.Get("az4")).ID, made.ID)
		zone := func(z entity.Zone) string { return z.Name }
		wantContains(t, "the zones", names(must(c.Zones.Get()), zone), "az4", true)
		mustSucceed(c.Zone.Delete("az4"))
		wantContains(t, "the zones", names(must(c.Zones.Get()), zone), "az4", false)
		_, err := c.Zone.Get("az4")
		wantNotFound(t, "zone", err)
	})
}

func TestResourcePools(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.ResourcePools.Create(&entity.ResourcePoolParams{Name: "red", Description: "warm"}))
		wantSame(t, "the description", must(c.ResourcePool.Get(made.ID)).Description, "warm")
		must(c.ResourcePool.Update(made.ID, &entity.ResourcePoolParams{Name: "green"}))
		wantSame(t, "the name", must(c.ResourcePool.Get(made.ID)).Name, "green")
		pool := func(p entity.ResourcePool) string { return p.Name }
		wantContains(t, "the pools", names(must(c.ResourcePools.Get()), pool), "green", true)
		mustSucceed(c.ResourcePool.Delete(made.ID))
		wantContains(t, "the pools", names(must(c.ResourcePools.Get()), pool), "green", false)
		wantSame(t, "the id by the name", must(c.ResourcePool.GetByName("blue")).Name, "blue")
		must(c.ResourcePool.UpdateByName("blue", &entity.ResourcePoolParams{Name: "navy"}))
		mustSucceed(c.ResourcePool.DeleteByName("navy"))
		wantContains(t, "the pools", names(must(c.ResourcePools.Get()), pool), "navy", false)
	})
}

func TestTags(t *testing.T) {
	startClient(t, func(c *client.Client) {
		must(c.Tags.Create(&entity.TagParams{Name: "slow", Comment: "old disks", KernelOpts: "quiet"}))
		wantSame(t, "the comment", must(c.Tag.Get("slow")).Comment, "old disks")
		must(c.Tag.Update("slow", &entity.TagParams{Name: "slow", Comment: "older disks"}))
		wantSame(t, "the comment", must(c.Tag.Get("slow")).Comment, "older disks")
		tag := func(t entity.Tag) string { return t.Name }
		wantContains(t, "the tags", names(must(c.Tags.Get()), tag), "slow", true)
		id := machineNamed(c, "metal1").SystemID
		mustSucceed(c.Tag.AddMachines("slow", []string{id}))
		wantContains(t, "the machines of slow", names(must(c.Tag.GetMachines("slow")), hostname), "metal1", true)
		wantContains(t, "the tags of metal1", must(c.Machine.Get(id)).TagNames, "slow", true)
		mustSucceed(c.Tag.RemoveMachines("slow", []string{id}))
		wantContains(t, "the tags of metal1", must(c.Machine.Get(id)).TagNames, "slow", false)
		mustSucceed(c.Tag.Delete("slow"))
		wantContains(t, "the tags", names(must(c.Tags.Get()), tag), "slow", false)
	})
}

func TestUsers(t *testing.T) {
	startClient(t, func(c *client.Client) {
		wantSame(t, "the caller", must(c.Users.Whoami()).UserName, "admin")
		user := func(u entity.User) string { return u.UserName }
		wantContains(t, "the users", names(must(c.Users.Get()), user), "user1", true)
		wantSame(t, "that user1 is an admin", must(c.User.Get("user1")).IsSuperUser, false)
	})
}

func TestVersionAndConfig(t *testing.T) {
	startClient(t, func(c *client.Client) {
		v := must(c.Version.Get())
		wantContains(t, "the capabilities", v.Capabilities, "networks-management", true)
		mustSucceed(c.MAASServer.Post("maas_name", "other"))
		wantSame(t, "the setting maas_name", string(must(c.MAASServer.Get("maas_name"))), `"other"`)
	})
}

func TestBootResources(t *testing.T) {
	startClient(t, func(c *client.Client) {
		image := func(r entity.BootResource) string { return r.Name }
		wantContains(t, "the images", names(must(c.BootResources.Get(&entity.BootResourcesReadParams{})), image), "ubuntu/noble", true)
		first := must(c.BootResources.Get(&entity.BootResourcesReadParams{}))[0]
		wantSame(t, "the first image", must(c.BootResource.Get(first.ID)).Name, first.Name)
		wantSame(t, "that images are imported", must(c.BootResources.IsImporting()), false)
	})
}

func TestRackControllers(t *testing.T) {
	startClient(t, func(c *client.Client) {
		racks := must(c.RackControllers.Get(&entity.RackControllersGetParams{}))
		wantSame(t, "the number of racks", len(racks), 1)
		wantSame(t, "the rack by its id", must(c.RackController.Get(racks[0].SystemID)).Hostname, racks[0].Hostname)
	})
}

func TestEvents(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		must(c.Machine.Deploy(id, &entity.MachineDeployParams{Comment: "for the events"}))
		settleSimulator(t)
		events := must(c.Events.Get(&entity.EventParams{ID: id, Limit: "100"}))
		types := names(events.Events, func(e entity.Event) string { return e.Type })
		wantContains(t, "the types of events", types, "Deployed", true)
	})
}

func TestScriptResults(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		must(c.Machine.Deploy(id, &entity.MachineDeployParams{}))
		settleSimulator(t)
		runs := must(c.NodeResults.Get(id, &entity.NodeResultParams{}))
		wantSame(t, "the number of runs", len(runs), 1)
		wantSame(t, "the run", runs[0].TypeName+" "+runs[0].StatusName, "Installation Passed")
		wantSame(t, "the script of an installation", runs[0].Results[0].Name, "/tmp/install.log")
	})
}
