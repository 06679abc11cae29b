package spectro

import (
	"strings"
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

func TestZones(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		zones := must(c.Zones().List(t.Context()))
		wantContains(t, "the zones", names(zones, maas.Zone.Name), "az1", true)
		for _, z := range zones {
			if z.Name() == "default" {
				wantSame(t, "the id of default", z.ID(), 1)
				wantSame(t, "its description", z.Description(), "")
			}
		}
	})
}

func TestResourcePools(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		pools := must(c.ResourcePools().List(t.Context(), nil))
		blue := pools[1]
		wantSame(t, "the name", blue.Name(), "blue")
		wantSame(t, "the id", blue.ID(), 1)
		wantSame(t, "the description of default", pools[0].Description(), "Default pool")
		wantSame(t, "the id of a pool that was not read", c.ResourcePools().ResourcePool(1).ID(), 1)
	})
}

func TestDomains(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		must(c.DNSResources().Builder().WithFQDN("www.maas").WithAddressTTL("10").WithIPAddresses([]string{"10.77.0.50"}).Create(t.Context()))
		for _, d := range must(c.Domains().List(t.Context())) {
			if d.Name() != "maas" {
				continue
			}
			wantSame(t, "that it is the default", d.IsDefault(), true)
			wantSame(t, "that it is authoritative", d.IsAuthoritative(), true)
			wantSame(t, "the TTL", d.TTL(), 0)
			wantSame(t, "the number of records", d.ResourceRecordCount(), 1)
		}
		wantSame(t, "the id of a domain that was not read", c.Domains().Domain(0).ID(), 0)
	})
}

func TestTags(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		mustSucceed(c.Tags().Create(t.Context(), "slow"))
		tags := must(c.Tags().List(t.Context()))
		wantContains(t, "the tags", names(tags, maas.Tag.Name), "slow", true)
		for _, tag := range tags {
			if tag.Name() != "slow" {
				continue
			}
			wantSame(t, "the definition", tag.Definition(), "")
			wantSame(t, "the comment", tag.Comment(), "")
			wantSame(t, "the options", tag.KernelOpts(), "")
			wantSame(t, "that the URI has the name", strings.HasSuffix(tag.ResourceUri(), "/tags/slow/"), true)
		}
	})
}

// TestTagsAssigned: MAAS has neither op=assign nor op=remove, and the client ignores the
// answer.
func TestTagsAssigned(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		m := machineNamed(t, "metal1")
		mustSucceed(c.Tags().Assign(t.Context(), "fast", []string{m.SystemID()}))
		wantContains(t, "the tags of metal1", must(m.Get(t.Context())).Tags(), "fast", false)
		m = machineNamed(t, "metal2")
		mustSucceed(c.Tags().Unassign(t.Context(), "fast", []string{m.SystemID()}))
		wantContains(t, "the tags of metal2", must(m.Get(t.Context())).Tags(), "fast", true)
	})
}

func TestUsers(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		wantContains(t, "the users", names(must(c.Users().List(t.Context())), maas.User.UserName), "user1", true)
		me := must(c.Users().WhoAmI(t.Context()))
		wantSame(t, "the caller", me.UserName(), "admin")
		wantSame(t, "that he is an admin", me.IsSuperUser(), true)
		wantSame(t, "that he is MAAS's own", me.IsLocal(), true)
		wantSame(t, "that he has an address", me.Email() != "", true)
	})
}

func TestBootResources(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		image := must(c.BootResources().List(t.Context(), nil))[0]
		wantSame(t, "the name", image.Name(), "ubuntu/jammy")
		wantSame(t, "the type", image.Type(), "Synced")
		wantSame(t, "the architecture", image.Architecture() != "", true)
		wantSame(t, "that it has an id", image.ID() > 0, true)
		wantContains(t, "the subarchitectures", strings.Split(image.SubArches(), ","), "generic", true)
		wantSame(t, "the sets of what the list tells", len(image.Sets()), 0)
		wantSame(t, "the id of one that was not read", c.BootResources().BootResource(7).ID(), 7)
		wantSame(t, "that it has a title", image.Title() != "", true)
	})
}
