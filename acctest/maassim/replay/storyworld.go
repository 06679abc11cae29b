package replay

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// WorldOf is [World] with the details that a story shows: the size and address of its LXD
// server, MAAS's subnets, and its images.
func WorldOf(story recording.Story) (sim.Model, error) {
	m, err := World()
	if err != nil {
		return m, err
	}
	found := gatherEvidence(story.Exchanges)
	found.fillLXD(&m.Hosts[0])
	found.fillSubnets(&m)
	found.fillImages(&m)
	return m, nil
}

// fillLXD sets the LXD server's address and size. The size is the one that MAAS saw first,
// or that its refusals show. A server of unknown size is large.
func (v *evidence) fillLXD(host *sim.HostModel) {
	host.Address = cmp.Or(v.firstAddress(), host.Address)
	seen := false
	for i := range v.exchanges {
		for _, o := range v.hostsIn(i) {
			seen = true
			total, _ := o["total"].(map[string]any)
			if v.fillStoragePools(o, host); numberOf(total["cores"]) > 0 {
				host.Cores, host.MemoryMiB, host.LXDVersion = numberOf(total["cores"]), int64(numberOf(total["memory"])), cmp.Or(textOf(o["version"]), host.LXDVersion)
				return
			}
		}
	}
	if seen {
		host.Cores, host.MemoryMiB = cmp.Or(v.largestAllowed("cores"), assumedCores), int64(cmp.Or(v.largestAllowed("memory"), assumedMemoryMiB))
	}
}

// The size of an LXD server of unknown size.
const (
	assumedCores     = 64
	assumedMemoryMiB = 256 << 10
)

// maxValueMessage is MAAS's message about a field of a compose that asks for too much of a
// host.
var maxValueMessage = regexp.MustCompile(`^Ensure this value is less than or equal to (\d+)\.$`)

// largestAllowed is the maximum that MAAS named for a field of a compose. It is 0 if MAAS
// named none.
func (v *evidence) largestAllowed(field string) int {
	for _, e := range v.exchanges {
		var problems map[string]json.RawMessage
		var texts []string
		if e.Op() != "compose" || e.Response.Status != http.StatusBadRequest || !decode(e, &problems) || json.Unmarshal(problems[field], &texts) != nil {
			continue
		}
		for _, text := range texts {
			if found := maxValueMessage.FindStringSubmatch(text); found != nil {
				n, _ := strconv.Atoi(found[1])
				return n
			}
		}
	}
	return 0
}

// fillStoragePools gives the LXD server the storage pools of an answer.
func (v *evidence) fillStoragePools(o map[string]any, host *sim.HostModel) {
	pools := objectsOf(o["storage_pools"])
	if len(pools) == 0 {
		return
	}
	host.StoragePools = nil
	for n, pool := range pools {
		host.StoragePools = append(host.StoragePools, sim.StoragePoolModel{
			Name: textOf(pool["name"]), Driver: textOf(pool["type"]), SizeBytes: int64(numberOf(pool["total"])), Default: n == 0,
			Path: textOf(pool["path"]),
		})
	}
}

// firstAddress is the address of the LXD that answered its registration, or that an
// answer's parameters show. It is empty if no answer shows one.
func (v *evidence) firstAddress() string {
	shown := ""
	for i, e := range v.exchanges {
		o, isObject := v.bodies[i].(map[string]any)
		switch {
		case !isObject || !e.OK() || e.Route()[0] != "vm-hosts":
		case len(e.Route()) == 1 && len(anyList(o["capabilities"])) > 0 && addressOf(e) != "":
			return addressOf(e)
		case e.Op() == "parameters":
			shown = cmp.Or(shown, textOf(o["power_address"]))
		}
	}
	return shown
}

func addressOf(e recording.Exchange) string {
	address := e.FormValues().Get("power_address")
	if len(address) > 8 && address[:8] == "https://" {
		return address
	}
	return ""
}

// fillSubnets replaces the subnets by those of the first full list.
func (v *evidence) fillSubnets(m *sim.Model) {
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

// subnetOf is a subnet as MAAS shows it. A known subnet keeps the values that MAAS does
// not show.
func (v *evidence) subnetOf(o map[string]any, known map[string]sim.SubnetModel) sim.SubnetModel {
	n := known[textOf(o["cidr"])]
	vlan, _ := o["vlan"].(map[string]any)
	n.CIDR, n.Gateway, n.DHCP = textOf(o["cidr"]), textOf(o["gateway_ip"]), vlan["dhcp_on"] == true
	if name := textOf(o["name"]); name != n.CIDR {
		n.Name = name
	}
	return n
}

// fillImages replaces the images by those of the first list.
func (v *evidence) fillImages(m *sim.Model) {
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
