package lxd

import (
	"cmp"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func networkRoutes() []Route {
	return []Route{
		{http.MethodGet, "1.0/networks", AccessInProject, listNetworks},
		{http.MethodPost, "1.0/networks", accessAdmin, createNetwork},
		{http.MethodGet, "1.0/networks/{name}", AccessInProject, readNetwork},
		{http.MethodPut, "1.0/networks/{name}", accessAdmin, putNetwork},
		{http.MethodDelete, "1.0/networks/{name}", accessAdmin, deleteNetwork},
		{http.MethodGet, "1.0/networks/{name}/state", AccessInProject, readNetworkState},
	}
}

// networkViews are LXD's own networks and the interfaces of its machine.
func networkViews(c *Call) map[string]api.Network {
	views := map[string]api.Network{}
	for _, i := range c.LXD.HostInterfaces() {
		views[i.Name] = api.Network{Name: i.Name, Type: i.Kind, Config: map[string]string{}, UsedBy: []string{}, Locations: []string{}}
	}
	for name, n := range c.LXD.Networks {
		view := *n
		view.Status, view.Locations = api.NetworkStatusCreated, []string{"none"}
		views[name] = view
	}
	for name, view := range views {
		view.UsedBy = networkUsers(c, name)
		views[name] = view
	}
	return views
}

// networkUsers are the instances and profiles with a NIC on the network.
func networkUsers(c *Call, name string) []string {
	users := []string{}
	uses := func(devices map[string]map[string]string) bool {
		for _, d := range devices {
			if d["type"] == "nic" && (d["network"] == name || d["parent"] == name) {
				return true
			}
		}
		return false
	}
	for _, project := range rest.SortedValues(world.ProjectNames(c.LXD)) {
		for _, i := range c.LXD.Instances(project) {
			if c.trust.AllowsProject(project) && uses(i.ExpandedDevices()) {
				users = append(users, (&Call{Project: project}).inProject("/1.0/instances/"+i.Name))
			}
		}
	}
	for key, p := range c.LXD.Profiles {
		if c.trust.AllowsProject(key.Project) && uses(p.Devices) {
			users = append(users, (&Call{Project: key.Project}).inProject("/1.0/profiles/"+key.Name))
		}
	}
	slices.Sort(users)
	return users
}

func listNetworks(c *Call) rest.Reply {
	paths, views := []string{}, rest.SortedValues(networkViews(c))
	for _, v := range views {
		paths = append(paths, "/1.0/networks/"+v.Name)
	}
	return c.answerList(paths, views)
}

func networkNamed(c *Call) (api.Network, *rest.Reply) {
	n, known := networkViews(c)[c.Vars["name"]]
	if !known {
		bad := notFoundReply("Network")
		return n, &bad
	}
	return n, nil
}

func networkETagParts(n api.Network) []any {
	return []any{n.Name, n.Managed, n.Type, n.Description, n.Config}
}

func readNetwork(c *Call) rest.Reply {
	n, bad := networkNamed(c)
	if bad != nil {
		return *bad
	}
	return taggedReply(n, networkETagParts(n)...)
}

// readNetworkState shows a network's state. LXD's own bridges have the address of their
// configuration.
func readNetworkState(c *Call) rest.Reply {
	n, bad := networkNamed(c)
	if bad != nil {
		return *bad
	}
	state := api.NetworkState{Addresses: []api.NetworkStateAddress{}, Mtu: 1500, State: "up", Type: "broadcast"}
	add := func(ip, bits string) {
		state.Addresses = append(state.Addresses, api.NetworkStateAddress{Family: "inet", Address: ip, Netmask: bits, Scope: "global"})
	}
	for _, i := range c.LXD.HostInterfaces() {
		if i.Name != n.Name {
			continue
		}
		state.Hwaddr = i.MAC
		for _, ip := range i.Addresses {
			add(ip, strconv.Itoa(addressBits(i)))
		}
	}
	if p, err := netip.ParsePrefix(n.Config["ipv4.address"]); err == nil {
		add(p.Addr().String(), strconv.Itoa(p.Bits()))
	}
	if n.Type == "bridge" {
		state.Bridge = &api.NetworkStateBridge{ID: "8000." + strings.ReplaceAll(state.Hwaddr, ":", ""), UpperDevices: []string{}}
	}
	return syncReply(state)
}

func addressBits(i world.HostInterface) int {
	if i.Subnet == nil {
		return 32
	}
	return i.Subnet.CIDR.Bits()
}

func createNetwork(c *Call) rest.Reply {
	var in api.NetworksPost
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	_, taken := networkViews(c)[in.Name]
	switch {
	case in.Name == "" || len(in.Name) > 15 || strings.ContainsAny(in.Name, "/ :"):
		return BadRequestReply("Invalid network name %q: Network interface must not be longer than 15 characters", in.Name)
	case taken:
		return BadRequestReply("The network already exists")
	}
	if bad := networkConfigProblem(in.Config); bad != nil {
		return *bad
	}
	n := &api.Network{Name: in.Name, Type: cmp.Or(in.Type, "bridge"), Managed: true, Description: in.Description, Config: map[string]string{}}
	maps.Copy(n.Config, in.Config)
	c.LXD.Networks[in.Name] = n
	return c.answerChange(asyncPoolsAndNetworks, "Creating network", createdReply("/1.0/networks/"+in.Name))
}

// networkConfigProblem is 400 for a key or a value that LXD refuses, or nil.
func networkConfigProblem(config map[string]string) *rest.Reply {
	var bad rest.Reply
	for _, key := range slices.Sorted(maps.Keys(config)) {
		area, _, _ := strings.Cut(key, ".")
		switch {
		case !slices.Contains([]string{"bgp", "bridge", "dns", "fan", "ipv4", "ipv6", "maas", "raw", "security", "tunnel", "user", "volatile", "parent", "mtu", "vlan", "network"}, area):
			bad = BadRequestReply("Invalid option for network option %q", key)
		case key == "ipv4.address" && !isNetworkAddress(config[key]):
			bad = BadRequestReply("Invalid value for network option %q: Not an IPv4 CIDR %q", key, config[key])
		default:
			continue
		}
		return &bad
	}
	return nil
}

func isNetworkAddress(text string) bool {
	if slices.Contains([]string{"", "none", "auto"}, text) {
		return true
	}
	p, err := netip.ParsePrefix(text)
	return err == nil && p.Addr().Is4()
}

// managedNetwork is the network in the path, which LXD itself must have made.
func managedNetwork(c *Call) (*api.Network, *rest.Reply) {
	if _, bad := networkNamed(c); bad != nil {
		return nil, bad
	}
	n := c.LXD.Networks[c.Vars["name"]]
	if n == nil {
		bad := BadRequestReply("Only managed networks can be modified")
		return nil, &bad
	}
	return n, nil
}

func putNetwork(c *Call) rest.Reply {
	n, bad := managedNetwork(c)
	if bad == nil {
		bad = c.checkETag(networkETagParts(*n)...)
	}
	var in api.NetworkPut
	if bad == nil {
		bad = c.readBody(&in)
	}
	if bad == nil {
		bad = networkConfigProblem(in.Config)
	}
	if bad != nil {
		return *bad
	}
	n.Description, n.Config = in.Description, map[string]string{}
	maps.Copy(n.Config, in.Config)
	return c.answerChange(asyncPoolsAndNetworks, "Updating network", doneReply())
}

func deleteNetwork(c *Call) rest.Reply {
	n, bad := managedNetwork(c)
	switch {
	case bad != nil:
		return *bad
	case len(networkUsers(c, n.Name)) > 0:
		return BadRequestReply("The network is currently in use")
	}
	delete(c.LXD.Networks, n.Name)
	return c.answerChange(asyncPoolsAndNetworks, "Deleting network", doneReply())
}
