package catalog

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Routes are the things that machines and VM hosts are sorted into, and
// what MAAS says about itself.
func Routes() []request.Route {
	return slices.Concat(aboutRoutes, zoneRoutes, poolRoutes, tagRoutes, rackRoutes)
}

var aboutRoutes = []request.Route{
	{Method: http.MethodGet, Path: "version/", Anon: true, Handle: showVersion},
	{Method: http.MethodGet, Path: "boot-resources/", Handle: listImages},
	{Method: http.MethodGet, Path: "boot-resources/", Op: "is_importing", Handle: func(*request.Call) rest.Reply { return rest.OK(false) }},
	{Method: http.MethodGet, Path: "maas/", Op: "get_config", Handle: getConfig},
}

// capabilities are what version/ lists: the same since MAAS 2.
var capabilities = []string{
	"networks-management", "static-ipaddresses", "ipv6-deployment-ubuntu", "devices-management",
	"storage-deployment-ubuntu", "network-deployment-ubuntu", "bridging-interface-ubuntu",
	"bridging-automatic-ubuntu", "authenticate-api",
}

func showVersion(c *request.Call) rest.Reply {
	rep := rest.OK(rest.Object{"version": versions.Number(c.World.Version), "subversion": "", "capabilities": capabilities})
	rep.Header.Set("Vary", "Authorization")
	return rep
}

// listImages shows two boot resources for each image and architecture: the
// kernel of the release and the hardware enablement one. What somebody uploaded
// has no kernel of its own, and no prefix.
func listImages(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, image := range c.World.Images {
		system, series, _ := strings.Cut(image, "/")
		if system == "custom" {
			for _, architecture := range c.World.Architectures {
				id := len(views) + 1
				views = append(views, rest.Object{
					"id": id, "type": "Uploaded", "name": series, "architecture": architecture + "/generic",
					"resource_uri": rest.URI("boot-resources", id), "last_deployed": nil, "title": "",
					"subarches": "generic", "kflavor": "generic", "platform": "generic", "supported_platforms": "generic",
				})
			}
			continue
		}
		r, known := world.Releases[series]
		if !known {
			r = world.Release{Version: "1.0", Title: series}
		}
		for _, architecture := range c.World.Architectures {
			for _, kernel := range []string{"ga-", "hwe-"} {
				id := len(views) + 1
				views = append(views, rest.Object{
					"id": id, "type": "Synced", "name": image, "architecture": architecture + "/" + kernel + r.Version,
					"resource_uri": rest.URI("boot-resources", id), "last_deployed": nil, "title": r.Title,
					"subarches": subarches(r.Version), "kflavor": "generic", "platform": "generic", "supported_platforms": "generic",
				})
			}
		}
	}
	return rest.OK(views)
}

// subarches are the hardware classes that an image of a release serves: the
// lettered ones up to 16.04 and a kernel for each half year since.
func subarches(version string) string {
	names := []string{"generic", "hwe-p", "hwe-q", "hwe-r", "hwe-s", "hwe-t", "hwe-u", "hwe-v", "hwe-w"}
	for year := 16; year < 30; year++ {
		for _, month := range []string{"04", "10"} {
			v := strconv.Itoa(year) + "." + month
			if v > version {
				return strings.Join(names, ",")
			}
			names = append(names, "ga-"+v)
		}
	}
	return strings.Join(names, ",")
}

func getConfig(c *request.Call) rest.Reply {
	name := c.Query.Get("name")
	if !slices.Contains(configNames, name) {
		rep := rest.BadField(name, fmt.Sprintf("%s is not a valid config setting (valid settings are: %s).", name, strings.Join(configNames, ", ")))
		rep.Kind = "application/json"
		return rep
	}
	rep := rest.OK(settingValue(c.World, name))
	rep.Kind = "application/json"
	return rep
}

// settingValue is a setting's value; those that nothing here depends on are null.
func settingValue(w *world.World, name string) any {
	switch name {
	case "default_osystem":
		return "ubuntu"
	case "default_distro_series", "commissioning_distro_series":
		return w.DefaultSeries()
	case "default_storage_layout":
		return "flat"
	case "maas_name":
		return "maassim"
	case "maas_internal_domain":
		return "maas-internal"
	case "node_timeout":
		return 30
	}
	return nil
}

// configNames are the settings of MAAS 3.4 (forms/settings.py), in its order.
var configNames = strings.Fields(`
	maas_name theme kernel_opts enable_http_proxy maas_proxy_port use_peer_proxy prefer_v4_proxy http_proxy
	default_dns_ttl upstream_dns dnssec_validation maas_internal_domain dns_trusted_acl ntp_servers
	ntp_external_only remote_syslog maas_syslog_port network_discovery active_discovery_interval default_osystem
	default_distro_series default_min_hwe_kernel default_storage_layout commissioning_distro_series
	enable_third_party_drivers windows_kms_host enable_disk_erasing_on_release disk_erase_with_secure_erase
	disk_erase_with_quick_erase boot_images_auto_import boot_images_no_proxy curtin_verbose force_v1_network_yaml
	enable_analytics completed_intro max_node_commissioning_results max_node_testing_results
	max_node_installation_results subnet_ip_exhaustion_threshold_count release_notifications use_rack_proxy
	node_timeout prometheus_enabled prometheus_push_gateway prometheus_push_interval promtail_enabled promtail_port
	enlist_commissioning maas_auto_ipmi_user maas_auto_ipmi_user_privilege_level maas_auto_ipmi_k_g_bmc_key
	maas_auto_ipmi_cipher_suite_id maas_auto_ipmi_workaround_flags vcenter_server vcenter_username
	vcenter_password vcenter_datacenter hardware_sync_interval tls_cert_expiration_notification_enabled
	tls_cert_expiration_notification_interval session_length auto_vlan_creation`)
