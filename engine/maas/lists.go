package maas

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// makeLists prepares the cached lists; it reads none.
func (c *Client) makeLists(now func() time.Time) {
	limit := c.sharedLimit()
	c.hosts = newCached(hostsTTL, limit, now, c.fetchHosts)
	c.zones = newCached(namesTTL, limit, now, namesAt(c, "zones/"))
	c.pools = newCached(namesTTL, limit, now, namesAt(c, "resourcepools/"))
	c.tagComments = newCached(namesTTL, limit, now, c.fetchTagComments)
	c.domains = newCached(namesTTL, limit, now, namesAt(c, "domains/"))
	c.subnets = newCached(namesTTL, limit, now, c.fetchSubnets)
	c.ranges = &subnetRanges{each: map[int]*cached[[]usedRange]{}, make: func(subnetID int) *cached[[]usedRange] {
		return newCached(addressesTTL, limit, now, c.fetchRanges(subnetID))
	}}
	c.images = newCached(namesTTL, limit, now, c.fetchImages)
	c.series = newCached(namesTTL, limit, now, c.fetchSeries)
	c.probe = newCached(namesTTL, 3*limit, now, c.fetchCapabilities)
}

func newCached[T any](
	ttl, limit time.Duration, now func() time.Time, fetch func(context.Context) (T, error),
) *cached[T] {
	return &cached[T]{ttl: ttl, limit: limit, now: now, fetch: fetch}
}

// Refresh implements engine.Names.
func (c *Client) Refresh(lists ...engine.List) {
	for list, expire := range map[engine.List]func(){
		engine.ListHosts: c.hosts.expire, engine.ListZones: c.zones.expire, engine.ListPools: c.pools.expire,
		engine.ListDomains: c.domains.expire, engine.ListSubnets: c.subnets.expire, engine.ListAddresses: c.ranges.expire,
		engine.ListImages: c.images.expire,
	} {
		if list.In(lists) {
			expire()
		}
	}
}

// Zones implements engine.Names.
func (c *Client) Zones(ctx context.Context) ([]string, error) { return onlyNames(c.zones.get(ctx)) }

// Pools implements engine.Names.
func (c *Client) Pools(ctx context.Context) ([]string, error) { return onlyNames(c.pools.get(ctx)) }

// Domains implements engine.Names.
func (c *Client) Domains(ctx context.Context) ([]string, error) { return onlyNames(c.domains.get(ctx)) }

// Subnets implements engine.Names.
func (c *Client) Subnets(ctx context.Context) ([]engine.Subnet, error) {
	subnets, err := c.subnets.get(ctx)
	return slices.Clone(subnets), err
}

// Images implements engine.Catalog.
func (c *Client) Images(ctx context.Context) ([]engine.Image, error) {
	images, err := c.images.get(ctx)
	return slices.Clone(images), err
}

func namesAt(c *Client, route string) func(context.Context) ([]named, error) {
	return func(ctx context.Context) ([]named, error) {
		var all elements[named] // one without a name is nothing that anybody could ask for
		err := c.list(ctx, get(route), &all)
		return all.list, err
	}
}

// onlyNames sorts the names of a list.
func onlyNames(list []named, err error) ([]string, error) {
	names := make([]string, 0, len(list))
	for _, item := range list {
		names = append(names, item.Name)
	}
	slices.Sort(names)
	return names, err
}

func (c *Client) fetchSubnets(ctx context.Context) ([]engine.Subnet, error) {
	var list elements[wireSubnet]
	if err := c.list(ctx, get("subnets/"), &list); err != nil {
		return nil, err
	}
	subnets := make([]engine.Subnet, 0, len(list.list))
	for _, s := range list.sound() {
		subnets = append(subnets, engine.Subnet{ID: s.ID, Name: s.Name, CIDR: s.CIDR, VLAN: s.VLAN.ID, VID: s.VLAN.VID, DHCP: s.VLAN.DHCP})
	}
	return subnets, nil
}

func (c *Client) fetchSeries(ctx context.Context) (series string, err error) {
	r := get("maas/").op("get_config")
	r.query.Set("name", "default_distro_series")
	err = c.call(ctx, r, &series)
	return series, err
}

// fetchImages lists the boot resources, of which there is one for each
// architecture and kernel of an image.
func (c *Client) fetchImages(ctx context.Context) ([]engine.Image, error) {
	var list elements[struct {
		Name         string `json:"name"`
		Architecture string `json:"architecture"` // "amd64/ga-24.04"
	}]
	if err := c.list(ctx, get("boot-resources/"), &list); err != nil {
		return nil, err
	}
	found := map[string]*engine.Image{}
	for _, resource := range list.sound() {
		short, kernel, _ := strings.Cut(resource.Architecture, "/")
		image := found[resource.Name]
		if image == nil {
			image = &engine.Image{Name: resource.Name}
			found[resource.Name] = image
		}
		image.Architectures = append(image.Architectures, short)
		if kernel != "" && kernel != "generic" { // of what somebody uploaded, MAAS tells no kernel
			image.Kernels = append(image.Kernels, kernel)
		}
	}
	images := make([]engine.Image, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		image := found[name]
		slices.Sort(image.Architectures)
		slices.Sort(image.Kernels)
		image.Architectures, image.Kernels = slices.Compact(image.Architectures), slices.Compact(image.Kernels)
		images = append(images, *image)
	}
	return images, nil
}
