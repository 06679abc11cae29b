package replay

import (
	"cmp"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// WorldOf is [World] with what a story tells of its own: how big its LXD server
// is and where it listens, MAAS's subnets, and its images.
func WorldOf(story recording.Story) (sim.Model, error) {
	m, err := World()
	if err != nil {
		return m, err
	}
	found := gather(story.Exchanges)
	found.tellOfLXD(&m.Hosts[0])
	found.tellOfSubnets(&m)
	found.tellOfImages(&m)
	return m, nil
}

// tellOfLXD gives the LXD server its address, and the size that MAAS first saw.
func (v *evidence) tellOfLXD(host *sim.HostModel) {
	for i, e := range v.exchanges {
		if e.OK() && len(e.Route()) == 1 && e.Route()[0] == "vm-hosts" {
			host.Address = cmp.Or(addressOf(e), host.Address)
		}
		for _, o := range v.hostsIn(i) {
			total, _ := o["total"].(map[string]any)
			if numberOf(total["cores"]) == 0 {
				continue
			}
			host.Cores, host.MemoryMiB, host.LXDVersion = numberOf(total["cores"]), int64(numberOf(total["memory"])), cmp.Or(textOf(o["version"]), host.LXDVersion)
			host.StoragePools = nil
			for n, pool := range objectsOf(o["storage_pools"]) {
				host.StoragePools = append(host.StoragePools, sim.StoragePoolModel{
					Name: textOf(pool["name"]), Driver: textOf(pool["type"]), SizeBytes: int64(numberOf(pool["total"])), Default: n == 0,
				})
			}
			return
		}
	}
}

func addressOf(e recording.Exchange) string {
	address := e.FormValues().Get("power_address")
	if len(address) > 8 && address[:8] == "https://" {
		return address
	}
	return ""
}

// tellOfSubnets replaces the subnets by those of the first list of all.
func (v *evidence) tellOfSubnets(m *sim.Model) {
	for i, e := range v.exchanges {
		list, ok := v.bodies[i].([]any)
		if route := e.Route(); !ok || len(list) == 0 || len(route) != 1 || route[0] != "subnets" {
			continue
		}
		known := map[string]sim.SubnetModel{}
		for _, n := range m.Subnets {
			known[n.CIDR] = n
		}
		var subnets []sim.SubnetModel
		for _, o := range objectsOf(list) {
			subnets = append(subnets, v.subnetOf(o, known))
		}
		for _, n := range m.Subnets {
			if n.Learned && !slices.ContainsFunc(subnets, func(have sim.SubnetModel) bool { return have.CIDR == n.CIDR }) {
				subnets = append(subnets, n)
			}
		}
		m.Subnets = subnets
		m.Hosts[0].NICSubnet = cmp.Or(knownCIDR(subnets, m.Hosts[0].NICSubnet), "")
		return
	}
}

func knownCIDR(subnets []sim.SubnetModel, cidr string) string {
	if slices.ContainsFunc(subnets, func(n sim.SubnetModel) bool { return n.CIDR == cidr }) {
		return cidr
	}
	return ""
}

// subnetOf is a subnet as MAAS shows it; a known one keeps what MAAS does not show.
func (v *evidence) subnetOf(o map[string]any, known map[string]sim.SubnetModel) sim.SubnetModel {
	n := known[textOf(o["cidr"])]
	vlan, _ := o["vlan"].(map[string]any)
	n.CIDR, n.Gateway, n.DHCP = textOf(o["cidr"]), textOf(o["gateway_ip"]), vlan["dhcp_on"] == true
	if name := textOf(o["name"]); name != n.CIDR {
		n.Name = name
	}
	return n
}

// tellOfImages replaces the images by those of the first list.
func (v *evidence) tellOfImages(m *sim.Model) {
	for i, e := range v.exchanges {
		list, ok := v.bodies[i].([]any)
		if route := e.Route(); !ok || len(route) != 1 || route[0] != "boot-resources" {
			continue
		}
		images := []string{}
		for _, o := range objectsOf(list) {
			if name := textOf(o["name"]); !slices.Contains(images, name) {
				images = append(images, name)
			}
		}
		m.Images = images
		return
	}
}
