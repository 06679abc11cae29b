package maas

import (
	"context"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// Names lists the names in MAAS, and shows which addresses are in use.
type Names struct {
	*Addresses

	api     *api.Client
	hosts   *Hosts
	catalog *Catalog

	zones   *share.Cached[[]wireNamed]
	pools   *share.Cached[[]wireNamed]
	domains *share.Cached[[]wireNamed]
	subnets *share.Cached[[]engine.Subnet]
}

func newNames(l listConfig, addresses *Addresses) *Names {
	c := &Names{
		Addresses: addresses, api: l.api,
		zones: newNameList(l, "zones/"), pools: newNameList(l, "resourcepools/"), domains: newNameList(l, "domains/"),
	}
	c.subnets = share.NewCached(namesTTL, l.limit(), l.now, c.fetchSubnets)
	return c
}

// Refresh implements engine.Names.
func (c *Names) Refresh(lists ...engine.List) {
	for list, expire := range map[engine.List]func(){
		engine.ListHosts: c.hosts.list.Expire, engine.ListZones: c.zones.Expire, engine.ListPools: c.pools.Expire,
		engine.ListDomains: c.domains.Expire, engine.ListSubnets: c.subnets.Expire, engine.ListAddresses: c.ranges.expire,
		engine.ListImages: c.catalog.images.Expire,
	} {
		if list.IsRefreshedBy(lists) {
			expire()
		}
	}
}

// Zones implements engine.Names.
func (c *Names) Zones(ctx context.Context) ([]string, error) { return sortedNames(c.zones.Get(ctx)) }

// Pools implements engine.Names.
func (c *Names) Pools(ctx context.Context) ([]string, error) { return sortedNames(c.pools.Get(ctx)) }

// Domains implements engine.Names.
func (c *Names) Domains(ctx context.Context) ([]string, error) {
	return sortedNames(c.domains.Get(ctx))
}

// Subnets implements engine.Names.
func (c *Names) Subnets(ctx context.Context) ([]engine.Subnet, error) {
	subnets, err := c.subnets.Get(ctx)
	return slices.Clone(subnets), err
}

// newNameList returns the cached list of a route.
func newNameList(l listConfig, route string) *share.Cached[[]wireNamed] {
	return share.NewCached(namesTTL, l.limit(), l.now, func(ctx context.Context) ([]wireNamed, error) {
		var all api.Elements[wireNamed] // nobody can ask for an element without a name
		err := l.api.List(ctx, api.NewGet(route), &all)
		for n := range all.List {
			makePrintable(&all.List[n].Name)
		}
		return all.List, err
	})
}

// sortedNames returns the names of a list, sorted.
func sortedNames(list []wireNamed, err error) ([]string, error) {
	names := make([]string, 0, len(list))
	for _, item := range list {
		names = append(names, item.Name)
	}
	slices.Sort(names)
	return names, err
}

// undefinedSpace is MAAS's name for the space of a VLAN without one.
const undefinedSpace = "undefined"

func spaceName(space string) string {
	if space == undefinedSpace {
		return ""
	}
	return space
}

func (c *Names) fetchSubnets(ctx context.Context) ([]engine.Subnet, error) {
	var list api.Elements[wireSubnet]
	if err := c.api.List(ctx, api.NewGet("subnets/"), &list); err != nil {
		return nil, err
	}
	subnets := make([]engine.Subnet, 0, len(list.List))
	for _, s := range list.Readable() {
		makePrintable(&s.Name, &s.VLAN.Name, &s.VLAN.Fabric, &s.Space)
		subnets = append(subnets, engine.Subnet{
			ID: s.ID, Name: s.Name, CIDR: s.CIDR, VLAN: s.VLAN.ID, VID: s.VLAN.VID, DHCP: s.VLAN.DHCP,
			VLANName: s.VLAN.Name, Fabric: s.VLAN.Fabric, Space: spaceName(s.Space), Gateway: s.Gateway,
		})
	}
	return subnets, nil
}
