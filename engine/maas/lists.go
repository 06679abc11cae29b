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
	c.domains = newCached(namesTTL, limit, now, namesAt(c, "domains/"))
	c.subnets = newCached(namesTTL, limit, now, c.fetchSubnets)
	c.ranges = &subnetRanges{each: map[int]*cached[[]usedRange]{}, make: func(subnetID int) *cached[[]usedRange] {
		return newCached(addressesTTL, limit, now, c.fetchRanges(subnetID))
	}}
	c.images = newCached(namesTTL, limit, now, c.fetchImages)
	c.probe = newCached(namesTTL, 3*limit, now, c.fetchCapabilities)
}

func newCached[T any](
	ttl, limit time.Duration, now func() time.Time, fetch func(context.Context) (T, error),
) *cached[T] {
	return &cached[T]{ttl: ttl, limit: limit, now: now, fetch: fetch}
}

// Refresh implements engine.Names.
func (c *Client) Refresh() {
	c.hosts.expire()
	c.zones.expire()
	c.pools.expire()
	c.domains.expire()
	c.subnets.expire()
	c.ranges.expire()
	c.images.expire()
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
	return func(ctx context.Context) (list []named, err error) {
		err = c.list(ctx, get(route), &list)
		return list, err
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
	var list []wireSubnet
	if err := c.list(ctx, get("subnets/"), &list); err != nil {
		return nil, err
	}
	subnets := make([]engine.Subnet, 0, len(list))
	for _, s := range list {
		subnets = append(subnets, engine.Subnet{ID: s.ID, Name: s.Name, CIDR: s.CIDR, VLAN: s.VLAN.ID, VID: s.VLAN.VID, DHCP: s.VLAN.DHCP})
	}
	return subnets, nil
}

// fetchImages lists the boot resources, of which there is one for each
// architecture and kernel of an image.
func (c *Client) fetchImages(ctx context.Context) ([]engine.Image, error) {
	var list []struct {
		Name         string `json:"name"`
		Architecture string `json:"architecture"` // "amd64/ga-24.04"
	}
	if err := c.list(ctx, get("boot-resources/"), &list); err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for _, resource := range list {
		short, _, _ := strings.Cut(resource.Architecture, "/")
		found[resource.Name] = append(found[resource.Name], short)
	}
	images := make([]engine.Image, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		slices.Sort(found[name])
		images = append(images, engine.Image{Name: name, Architectures: slices.Compact(found[name])})
	}
	return images, nil
}
