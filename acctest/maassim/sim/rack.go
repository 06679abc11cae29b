package sim

import "net/http"

var rackRoutes = []route{
	{method: http.MethodGet, path: "rackcontrollers/", handle: listRacks},
}

// rackHostname and rackNIC name MAAS's one server: region and rack.
const (
	rackHostname = "maas"
	rackNIC      = "eth0"
)

// rackServices are the daemons that MAAS watches. Those whose state nothing
// here depends on are "unknown", as where systemd cannot be asked.
var rackServices = []string{
	"reverse_proxy", "regiond", "proxy", "bind9", "ntp_region", "syslog_region", "syslog_rack", "dhcpd",
	"proxy_rack", "tftp", "dns_rack", "dhcpd6", "rackd", "ntp_rack", "http",
}

func listRacks(c *call) reply { return ok([]object{c.w.rackView()}) }

// rackView shows the server through the machine's view: a node has most of
// what a machine has.
func (w *world) rackView() object {
	m := &machine{
		w: w, systemID: w.rackID, hostname: rackHostname, zone: w.defaultZone(), pool: w.pools[0], domain: w.domains[0],
		powerState: "unknown", commissioning: 1, testingStatus: -1,
	}
	for i, n := range w.subnets {
		if n.vlan.dhcp {
			m.nics = append(m.nics, &nic{id: i + 1, name: rackNIC, mac: "02:77:00:00:00:02", kind: "physical", vlan: n.vlan,
				links: []*link{{id: i + 1, mode: "static", subnet: n, ip: w.rackAddress(n).String()}}})
		}
	}
	all, v := m.view(), object{}
	for _, key := range rackKeys {
		v[key] = all[key]
	}
	v["resource_uri"] = uri("rackcontrollers", w.rackID)
	v["node_type"], v["node_type_name"] = 4, "Region and rack controller"
	v["architecture"], v["version"] = nil, versionNumbers[w.model.MAASVersion]
	v["service_set"] = w.serviceViews()
	return v
}

func (w *world) serviceViews() []object {
	views := []object{}
	for _, name := range rackServices {
		status := "unknown"
		switch name {
		case "regiond":
			status = "running"
		case "rackd":
			status = "running"
			if w.rack != OK {
				status = "dead"
			}
		case "dhcpd", "dhcpd6", "tftp", "ntp_rack":
			status = "dead"
		}
		views = append(views, object{"name": name, "status": status, "status_info": ""})
	}
	return views
}

// rackKeys are what a rack controller shows of a node.
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
