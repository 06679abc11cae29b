package sim

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

func lxdNetworkRoutes() []lxdRoute {
	return []lxdRoute{
		{http.MethodGet, "1.0/networks", lxdInProject, listNetworks},
		{http.MethodPost, "1.0/networks", lxdAdmin, createNetwork},
		{http.MethodGet, "1.0/networks/{name}", lxdInProject, readNetwork},
		{http.MethodPut, "1.0/networks/{name}", lxdAdmin, putNetwork},
		{http.MethodDelete, "1.0/networks/{name}", lxdAdmin, deleteNetwork},
		{http.MethodGet, "1.0/networks/{name}/state", lxdInProject, readNetworkState},
	}
}

// networkViews are the LXD's own networks, and the interfaces of its machine.
func (c *lxdCall) networkViews() map[string]api.Network {
	views := map[string]api.Network{}
	for _, i := range c.l.interfaces() {
		views[i.name] = api.Network{Name: i.name, Type: i.kind, Config: map[string]string{}, UsedBy: []string{}, Locations: []string{}}
	}
	for name, n := range c.l.networks {
		view := *n
		view.Status, view.Locations = api.NetworkStatusCreated, []string{"none"}
		views[name] = view
	}
	for name, view := range views {
		view.UsedBy = c.networkUsers(name)
		views[name] = view
	}
	return views
}

// networkUsers are the instances and profiles with a NIC there.
func (c *lxdCall) networkUsers(name string) []string {
	users := []string{}
	uses := func(devices map[string]map[string]string) bool {
		for _, d := range devices {
			if d["type"] == "nic" && (d["network"] == name || d["parent"] == name) {
				return true
			}
		}
		return false
	}
	for _, project := range sorted(projectNames(c.l)) {
		for _, i := range c.l.instances(project) {
			if c.trust.allows(project) && uses(i.expandedDevices()) {
				users = append(users, (&lxdCall{project: project}).inProject("/1.0/instances/"+i.name))
			}
		}
	}
	for key, p := range c.l.profiles {
		if c.trust.allows(key.project) && uses(p.Devices) {
			users = append(users, (&lxdCall{project: key.project}).inProject("/1.0/profiles/"+key.name))
		}
	}
	slices.Sort(users)
	return users
}

func listNetworks(c *lxdCall) reply {
	paths, views := []string{}, sorted(c.networkViews())
	for _, v := range views {
		paths = append(paths, "/1.0/networks/"+v.Name)
	}
	return c.listed(paths, views)
}

func (c *lxdCall) networkNamed() (api.Network, *reply) {
	n, known := c.networkViews()[c.vars["name"]]
	if !known {
		bad := lxdMissing("Network")
		return n, &bad
	}
	return n, nil
}

func networkTag(n api.Network) []any {
	return []any{n.Name, n.Managed, n.Type, n.Description, n.Config}
}

func readNetwork(c *lxdCall) reply {
	n, bad := c.networkNamed()
	if bad != nil {
		return *bad
	}
	return tagged(n, networkTag(n)...)
}

// readNetworkState: bridges of LXD itself have the address of their config.
func readNetworkState(c *lxdCall) reply {
	n, bad := c.networkNamed()
	if bad != nil {
		return *bad
	}
	state := api.NetworkState{Addresses: []api.NetworkStateAddress{}, Mtu: 1500, State: "up", Type: "broadcast"}
	add := func(ip, bits string) {
		state.Addresses = append(state.Addresses, api.NetworkStateAddress{Family: "inet", Address: ip, Netmask: bits, Scope: "global"})
	}
	for _, i := range c.l.interfaces() {
		if i.name != n.Name {
			continue
		}
		state.Hwaddr = i.mac
		for _, ip := range i.addresses {
			add(ip, itoa(i.bits()))
		}
	}
	if p, err := netip.ParsePrefix(n.Config["ipv4.address"]); err == nil {
		add(p.Addr().String(), itoa(p.Bits()))
	}
	if n.Type == "bridge" {
		state.Bridge = &api.NetworkStateBridge{ID: "8000." + strings.ReplaceAll(state.Hwaddr, ":", ""), UpperDevices: []string{}}
	}
	return synced(state)
}

func (i hostInterface) bits() int {
	if i.subnet == nil {
		return 32
	}
	return i.subnet.cidr.Bits()
}

func createNetwork(c *lxdCall) reply {
	var in api.NetworksPost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	_, taken := c.networkViews()[in.Name]
	switch {
	case in.Name == "" || len(in.Name) > 15 || strings.ContainsAny(in.Name, "/ :"):
		return lxdBad("Invalid network name %q: Network interface must not be longer than 15 characters", in.Name)
	case taken:
		return lxdBad("The network already exists")
	}
	if bad := networkConfigProblem(in.Config); bad != nil {
		return *bad
	}
	n := &api.Network{Name: in.Name, Type: or(in.Type, "bridge"), Managed: true, Description: in.Description, Config: map[string]string{}}
	maps.Copy(n.Config, in.Config)
	c.l.networks[in.Name] = n
	return c.settle(asyncPoolsAndNetworks, "Creating network", madeAt("/1.0/networks/"+in.Name))
}

// networkConfigProblem is nil, or 400 for a key or a value that LXD refuses.
func networkConfigProblem(config map[string]string) *reply {
	var bad reply
	for _, key := range slices.Sorted(maps.Keys(config)) {
		area, _, _ := strings.Cut(key, ".")
		switch {
		case !slices.Contains([]string{"bgp", "bridge", "dns", "fan", "ipv4", "ipv6", "maas", "raw", "security", "tunnel", "user", "volatile", "parent", "mtu", "vlan", "network"}, area):
			bad = lxdBad("Invalid option for network option %q", key)
		case key == "ipv4.address" && !isNetworkAddress(config[key]):
			bad = lxdBad("Invalid value for network option %q: Not an IPv4 CIDR %q", key, config[key])
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

// managedNetwork is a network in the path that LXD itself made.
func (c *lxdCall) managedNetwork() (*api.Network, *reply) {
	if _, bad := c.networkNamed(); bad != nil {
		return nil, bad
	}
	n := c.l.networks[c.vars["name"]]
	if n == nil {
		bad := lxdBad("Only managed networks can be modified")
		return nil, &bad
	}
	return n, nil
}

func putNetwork(c *lxdCall) reply {
	n, bad := c.managedNetwork()
	if bad == nil {
		bad = c.unchanged(networkTag(*n)...)
	}
	var in api.NetworkPut
	if bad == nil {
		bad = c.read(&in)
	}
	if bad == nil {
		bad = networkConfigProblem(in.Config)
	}
	if bad != nil {
		return *bad
	}
	n.Description, n.Config = in.Description, map[string]string{}
	maps.Copy(n.Config, in.Config)
	return c.settle(asyncPoolsAndNetworks, "Updating network", done())
}

func deleteNetwork(c *lxdCall) reply {
	n, bad := c.managedNetwork()
	switch {
	case bad != nil:
		return *bad
	case len(c.networkUsers(n.Name)) > 0:
		return lxdBad("The network is currently in use")
	}
	delete(c.l.networks, n.Name)
	return c.settle(asyncPoolsAndNetworks, "Deleting network", done())
}
