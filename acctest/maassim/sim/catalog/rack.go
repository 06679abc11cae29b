package catalog

import (
	"net/http"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var rackRoutes = []request.Route{
	{Method: http.MethodGet, Path: "rackcontrollers/", Handle: listRacks},
	{Method: http.MethodGet, Path: "rackcontrollers/{id}/", Handle: onController("RackController", rackView)},
	{Method: http.MethodGet, Path: "regioncontrollers/", Handle: listRegions},
	{Method: http.MethodGet, Path: "regioncontrollers/{id}/", Handle: onController("RegionController", regionView)},
	{Method: http.MethodGet, Path: "nodes/", Handle: listNodes},
}

// rackServices are the daemons that MAAS monitors. A daemon that affects nothing in the
// simulator is "unknown", as where systemd cannot be asked.
var rackServices = []string{
	"reverse_proxy", "regiond", "proxy", "bind9", "ntp_region", "syslog_region", "syslog_rack", "dhcpd",
	"proxy_rack", "tftp", "dns_rack", "dhcpd6", "rackd", "ntp_rack", "http",
}

func listRacks(c *request.Call) rest.Reply { return rest.OKReply([]rest.Object{rackView(c.World)}) }

func listRegions(c *request.Call) rest.Reply { return rest.OKReply([]rest.Object{regionView(c.World)}) }

// onController makes a handler for MAAS's own server. It is the only region controller and
// the only rack controller.
func onController(kind string, show func(*world.World) rest.Object) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		if c.Vars["id"] != c.World.RackID {
			return rest.NoObjectReply(kind)
		}
		return rest.OKReply(show(c.World))
	}
}

// regionView is the server as a region controller, without services
// (api/regioncontrollers.py, DISPLAYED_REGION_CONTROLLER_FIELDS).
func regionView(w *world.World) rest.Object {
	v := rackView(w)
	delete(v, "service_set")
	v["resource_uri"] = rest.URI("regioncontrollers", w.RackID)
	return v
}

// listNodes lists machines, then MAAS's own server (api/nodes.py, NodesHandler).
func listNodes(c *request.Call) rest.Reply {
	found, bad := c.FilterMachines()
	if bad != nil {
		return *bad
	}
	views := []rest.Object{}
	for _, m := range found {
		views = append(views, view.Machine(m))
	}
	return rest.OKReply(append(views, rackView(c.World)))
}

// rackView shows the server through the machine's view, because any node has most fields
// of a machine.
func rackView(w *world.World) rest.Object {
	m := &world.Machine{
		World: w, SystemID: w.RackID, Hostname: world.RackHostname, Zone: w.DefaultZone(), Pool: w.Pools[0], Domain: w.Domains[0],
		PowerState: "unknown", CommissioningSet: 1, TestingStatus: -1,
	}
	for i, n := range w.Subnets {
		if n.VLAN.DHCP {
			m.NICs = append(m.NICs, &world.NIC{ID: i + 1, Name: world.RackNIC, MAC: "02:77:00:00:00:02", Kind: "physical", VLAN: n.VLAN,
				Links: []*world.Link{{ID: i + 1, Mode: "static", Subnet: n, IP: world.RackAddress(w, n).String()}}})
		}
	}
	all, v := view.Machine(m), rest.Object{}
	for _, key := range rackKeys {
		v[key] = all[key]
	}
	v["resource_uri"] = rest.URI("rackcontrollers", w.RackID)
	v["node_type"], v["node_type_name"] = 4, "Region and rack controller"
	v["architecture"], v["version"] = nil, versions.FullNumber(w.Version)
	v["service_set"] = serviceViews(w)
	return v
}

func serviceViews(w *world.World) []rest.Object {
	views := []rest.Object{}
	for _, name := range rackServices {
		status := "unknown"
		switch name {
		case "regiond":
			status = "running"
		case "rackd":
			status = "running"
			if w.RackCondition != world.ConditionOK {
				status = "dead"
			}
		case "dhcpd", "dhcpd6", "tftp", "ntp_rack":
			status = "dead"
		}
		views = append(views, rest.Object{"name": name, "status": status, "status_info": ""})
	}
	return views
}

// rackKeys are the fields of a node that a rack controller shows.
var rackKeys = []string{
	"commissioning_status", "commissioning_status_name", "cpu_count", "cpu_speed", "cpu_test_status",
	"cpu_test_status_name", "current_commissioning_result_id", "current_installation_result_id",
	"current_testing_result_id", "description", "distro_series", "domain", "fqdn", "hardware_info", "hardware_uuid",
	"hostname", "interface_set", "interface_test_status", "interface_test_status_name", "ip_addresses", "memory",
	"memory_test_status", "memory_test_status_name", "network_test_status", "network_test_status_name", "osystem",
	"other_test_status", "other_test_status_name", "power_state", "power_type", "status_action",
	"storage_test_status", "storage_test_status_name", "swap_size", "system_id", "tag_names", "testing_status",
	"testing_status_name", "zone",
}
