package spectro

import (
	"strings"
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

func TestZones(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		zones := must(c.Zones().List(t.Context()))
		has(t, "the zones", names(zones, maas.Zone.Name), "az1", true)
		for _, z := range zones {
			if z.Name() == "default" {
				same(t, "the id of default", z.ID(), 1)
				same(t, "its description", z.Description(), "")
			}
		}
	})
}

func TestResourcePools(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		pools := must(c.ResourcePools().List(t.Context(), nil))
		blue := pools[1]
		same(t, "the name", blue.Name(), "blue")
		same(t, "the id", blue.ID(), 1)
		same(t, "the description of default", pools[0].Description(), "Default pool")
		same(t, "the id of a pool that was not read", c.ResourcePools().ResourcePool(1).ID(), 1)
	})
}

func TestDomains(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		must(c.DNSResources().Builder().WithFQDN("www.maas").WithAddressTTL("10").WithIPAddresses([]string{"10.77.0.50"}).Create(t.Context()))
		for _, d := range must(c.Domains().List(t.Context())) {
			if d.Name() != "maas" {
				continue
			}
			same(t, "that it is the default", d.IsDefault(), true)
			same(t, "that it is authoritative", d.IsAuthoritative(), true)
			same(t, "the TTL", d.TTL(), 0)
			same(t, "the number of records", d.ResourceRecordCount(), 1)
		}
		same(t, "the id of a domain that was not read", c.Domains().Domain(0).ID(), 0)
	})
}

func TestTags(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		try(c.Tags().Create(t.Context(), "slow"))
		tags := must(c.Tags().List(t.Context()))
		has(t, "the tags", names(tags, maas.Tag.Name), "slow", true)
		for _, tag := range tags {
			if tag.Name() != "slow" {
				continue
			}
			same(t, "the definition", tag.Definition(), "")
			same(t, "the comment", tag.Comment(), "")
			same(t, "the options", tag.KernelOpts(), "")
			same(t, "that the URI has the name", strings.HasSuffix(tag.ResourceUri(), "/tags/slow/"), true)
		}
	})
}

// TestTagsAssigned: MAAS knows no op=assign and no op=remove, and the client does not
// look at the answer.
func TestTagsAssigned(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		m := machine(t, "metal1")
		try(c.Tags().Assign(t.Context(), "fast", []string{m.SystemID()}))
		has(t, "the tags of metal1", must(m.Get(t.Context())).Tags(), "fast", false)
		m = machine(t, "metal2")
		try(c.Tags().Unassign(t.Context(), "fast", []string{m.SystemID()}))
		has(t, "the tags of metal2", must(m.Get(t.Context())).Tags(), "fast", true)
	})
}

func TestUsers(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		has(t, "the users", names(must(c.Users().List(t.Context())), maas.User.UserName), "user1", true)
		me := must(c.Users().WhoAmI(t.Context()))
		same(t, "the caller", me.UserName(), "admin")
		same(t, "that he is an admin", me.IsSuperUser(), true)
		same(t, "that he is MAAS's own", me.IsLocal(), true)
		same(t, "that he has an address", me.Email() != "", true)
	})
}

func TestBootResources(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		image := must(c.BootResources().List(t.Context(), nil))[0]
		same(t, "the name", image.Name(), "ubuntu/jammy")
		same(t, "the type", image.Type(), "Synced")
		same(t, "the architecture", image.Architecture() != "", true)
		same(t, "that it has an id", image.ID() > 0, true)
		has(t, "the subarchitectures", strings.Split(image.SubArches(), ","), "generic", true)
		same(t, "the sets of what the list tells", len(image.Sets()), 0)
		same(t, "the id of one that was not read", c.BootResources().BootResource(7).ID(), 7)
		same(t, "that it has a title", image.Title() != "", true)
	})
}
