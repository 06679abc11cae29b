package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// catalogRoutes are the things that machines and VM hosts are sorted into,
// named by and attached to, and what MAAS says about itself.
func catalogRoutes() []route {
	return slices.Concat(
		aboutRoutes, zoneRoutes, poolRoutes, tagRoutes, domainRoutes, dnsRoutes, dnsRecordRoutes,
		subnetRoutes, rangeRoutes, addressRoutes, rackRoutes,
	)
}

var aboutRoutes = []route{
	{method: http.MethodGet, path: "version/", anon: true, handle: showVersion},
	{method: http.MethodGet, path: "users/", op: "whoami", handle: whoAmI},
	{method: http.MethodGet, path: "users/", handle: listUsers},
	{method: http.MethodGet, path: "users/{name}/", handle: readUser},
	{method: http.MethodGet, path: "boot-resources/", handle: listImages},
	{method: http.MethodGet, path: "boot-resources/", op: "is_importing", handle: func(*call) reply { return ok(false) }},
	{method: http.MethodGet, path: "maas/", op: "get_config", handle: getConfig},
}

// capabilities are what version/ lists: the same since MAAS 2.
var capabilities = []string{
	"networks-management", "static-ipaddresses", "ipv6-deployment-ubuntu", "devices-management",
	"storage-deployment-ubuntu", "network-deployment-ubuntu", "bridging-interface-ubuntu",
	"bridging-automatic-ubuntu", "authenticate-api",
}

// versionNumbers are the full versions of the models.
var versionNumbers = map[string]string{Version34: "3.4.10", Version37: "3.7.2", VersionGone: "4.0.0"}

func showVersion(c *call) reply {
	rep := ok(object{"version": versionNumbers[c.w.model.MAASVersion], "subversion": "", "capabilities": capabilities})
	rep.header.Set("Vary", "Authorization")
	return rep
}

func whoAmI(c *call) reply { return ok(c.user.view()) }

func listUsers(c *call) reply {
	views := []object{}
	for _, u := range c.w.users {
		views = append(views, u.view())
	}
	return ok(views)
}

func readUser(c *call) reply {
	for _, u := range c.w.users {
		if u.name == c.vars["name"] {
			return ok(u.view())
		}
	}
	return noObject("User")
}

// release is what is known of an Ubuntu series.
type release struct{ version, title string }

var releases = map[string]release{
	"xenial": {"16.04", "16.04 LTS"}, "bionic": {"18.04", "18.04 LTS"}, "focal": {"20.04", "20.04 LTS"},
	"jammy": {"22.04", "22.04 LTS"}, "noble": {"24.04", "24.04 LTS"},
}

// listImages shows two boot resources for each image and architecture: the
// kernel of the release and the hardware enablement one.
func listImages(c *call) reply {
	views := []object{}
	for _, image := range c.w.images {
		_, series, _ := strings.Cut(image, "/")
		r, known := releases[series]
		if !known {
			r = release{"1.0", series}
		}
		for _, architecture := range c.w.model.Architectures {
			for _, kernel := range []string{"ga-", "hwe-"} {
				id := len(views) + 1
				views = append(views, object{
					"id": id, "type": "Synced", "name": image, "architecture": architecture + "/" + kernel + r.version,
					"resource_uri": uri("boot-resources", id), "last_deployed": nil, "title": r.title,
					"subarches": subarches(r.version), "kflavor": "generic", "platform": "generic", "supported_platforms": "generic",
				})
			}
		}
	}
	return ok(views)
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

func getConfig(c *call) reply {
	name := c.query.Get("name")
	if !slices.Contains(configNames, name) {
		rep := badField(name, fmt.Sprintf("%s is not a valid config setting (valid settings are: %s).", name, strings.Join(configNames, ", ")))
		rep.kind = "application/json"
		return rep
	}
	rep := ok(c.w.config(name))
	rep.kind = "application/json"
	return rep
}

// config is a setting's value; those that nothing here depends on are null.
func (w *world) config(name string) any {
	switch name {
	case "default_osystem":
		return "ubuntu"
	case "default_distro_series", "commissioning_distro_series":
		return w.defaultSeries()
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

// defaultSeries is what MAAS commissions with, and deploys unless it is told
// otherwise: the oldest imported Ubuntu, as its own default is older than what
// one imports.
func (w *world) defaultSeries() string {
	series := ""
	for _, image := range w.images {
		if s, isUbuntu := strings.CutPrefix(image, "ubuntu/"); isUbuntu && (series == "" || releases[s].version < releases[series].version) {
			series = s
		}
	}
	return or(series, "focal")
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

// number reads the id of a path. MAAS hands anything else to its database,
// and 500 comes back.
func number(text string) (int, *reply) {
	id, err := strconv.Atoi(text)
	if err != nil {
		rep := refused(http.StatusInternalServerError, fmt.Sprintf("Field 'id' expected a number but got '%s'.", text))
		return 0, &rep
	}
	return id, nil
}

// numbered finds the object of a path's id, or the reply that says why not.
func numbered[V any](c *call, all map[int]V, kind string) (V, *reply) {
	var none V
	id, wrong := number(c.vars["id"])
	if wrong != nil {
		return none, wrong
	}
	found, exists := all[id]
	if !exists {
		rep := noObject(kind)
		return none, &rep
	}
	return found, nil
}

const (
	msgRequired = "This field is required."
	msgInvalid  = "Enter a valid value."
	msgWhole    = "Enter a whole number."
)
