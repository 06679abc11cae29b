// Package settings has MAAS's settings: their names, kinds and defaults by
// version, and the operations that read and write them.
package settings

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
)

// Routes are the operations on MAAS's settings.
func Routes() []request.Route {
	return []request.Route{
		{Method: http.MethodGet, Path: "maas/", Op: "get_config", Handle: getConfig},
		{Method: http.MethodPost, Path: "maas/", Op: "set_config", Admin: true, Handle: setConfig},
	}
}

// setting is one of them.
type setting struct {
	name    string
	kind    kind
	initial any
	since   string // the version that brought it; "" for 3.4
}

// all are MAAS's settings in its own order (forms/settings.py, CONFIG_ITEMS).
// The defaults are those of models/config.py: what CONFIG_ITEMS calls one only
// shows in forms.
var all = []setting{
	{"maas_name", text{required: true}, "maassim", ""},
	{"theme", text{}, "", ""},
	{"kernel_opts", text{}, nil, ""},
	{"enable_http_proxy", truth{}, true, ""},
	{"maas_proxy_port", port{}, 8000, ""},
	{"use_peer_proxy", truth{}, false, ""},
	{"prefer_v4_proxy", truth{}, false, ""},
	{"http_proxy", address{}, nil, ""},
	{"default_dns_ttl", whole{}, 30, ""},
	{"upstream_dns", addresses{}, nil, ""},
	{"dnssec_validation", choice{values: []string{"auto", "yes", "no"}, of: "dnssec_validation"}, "auto", ""},
	{"maas_internal_domain", internalDomain{}, "maas-internal", ""},
	{"dns_trusted_acl", hosts{networks: true}, nil, ""},
	{"ntp_servers", hosts{}, "ntp.ubuntu.com", ""},
	{"ntp_external_only", truth{}, false, ""},
	{"allow_only_trusted_transfers", truth{}, false, versions.V35},
	{"remote_syslog", syslogServer{}, nil, ""},
	{"maas_syslog_port", port{also: 5247}, 5247, ""},
	{"network_discovery", choice{values: []string{"enabled", "disabled"}, of: "network_discovery"}, "enabled", ""},
	{"active_discovery_interval", choice{values: strings.Fields("0 604800 86400 43200 21600 10800 3600 1800 600"), of: "active_discovery_interval"}, 10800, ""},
	{"default_boot_interface_link_type", choice{values: []string{"auto", "dhcp", "static", "link_up"}, required: true}, "auto", versions.V36},
	{"default_osystem", osystem{}, "ubuntu", ""},
	{"default_distro_series", series{of: "release"}, nil, ""},
	{"default_min_hwe_kernel", kernel{}, "", ""},
	{"enable_kernel_crash_dump", truth{}, false, versions.V36},
	{"default_storage_layout", choice{values: strings.Fields("bcache blank custom flat lvm vmfs6 vmfs7"), required: true}, "flat", ""},
	{"commissioning_distro_series", series{of: "commissioning_distro_series"}, nil, ""},
	{"enable_third_party_drivers", truth{}, true, ""},
	{"windows_kms_host", text{}, nil, ""},
	{"enable_disk_erasing_on_release", truth{}, false, ""},
	{"disk_erase_with_secure_erase", truth{}, true, ""},
	{"disk_erase_with_quick_erase", truth{}, false, ""},
	{"boot_images_auto_import", truth{}, true, ""},
	{"boot_images_no_proxy", truth{}, false, ""},
	{"curtin_verbose", truth{}, true, ""},
	{"force_v1_network_yaml", truth{}, false, ""},
	{"enable_analytics", truth{}, true, ""},
	{"experimental_switch_provisioning", truth{}, false, versions.V38},
	{"completed_intro", truth{}, false, ""},
	{"max_node_commissioning_results", whole{min: 1}, 10, ""},
	{"max_node_testing_results", whole{min: 1}, 10, ""},
	{"max_node_installation_results", whole{min: 1}, 3, ""},
	{"max_node_release_results", whole{min: 1}, 3, versions.V35},
	{"subnet_ip_exhaustion_threshold_count", whole{min: 1}, 16, ""},
	{"refresh_token_duration", whole{min: 600, max: 5184000}, 2592000, versions.V38},
	{"release_notifications", truth{}, true, ""},
	{"use_rack_proxy", truth{}, true, ""},
	{"node_timeout", whole{min: 1}, 30, ""},
	{"prometheus_enabled", truth{}, false, ""},
	{"prometheus_push_gateway", text{}, nil, ""},
	{"prometheus_push_interval", whole{}, 60, ""},
	{"promtail_enabled", truth{}, false, ""},
	{"promtail_port", whole{}, 5238, ""},
	{"enlist_commissioning", truth{}, true, ""},
	{"maas_auto_ipmi_user", text{max: 20}, "maas", ""},
	{"maas_auto_ipmi_user_privilege_level", choice{values: []string{"USER", "OPERATOR", "ADMIN"}, words: "Valid choices are ADMIN, OPERATOR, or USER"}, "ADMIN", ""},
	{"maas_auto_ipmi_k_g_bmc_key", bmcKey{}, "", ""},
	{"maas_auto_ipmi_cipher_suite_id", choice{values: []string{"17", "3", "", "8", "12"}, words: "Valid choices are 17,3,,8,12"}, "3", ""},
	{"maas_auto_ipmi_workaround_flags", flags{}, nil, ""},
	{"vcenter_server", text{}, "", ""},
	{"vcenter_username", text{}, "", ""},
	{"vcenter_password", text{}, "", ""},
	{"vcenter_datacenter", text{}, "", ""},
	{"hardware_sync_interval", interval{}, "15m", ""},
	{"tls_cert_expiration_notification_enabled", truth{}, false, ""},
	{"tls_cert_expiration_notification_interval", whole{min: 1, max: 90}, 30, ""},
	{"session_length", whole{min: 10, max: 1209600}, 1209600, ""},
	{"auto_vlan_creation", truth{}, true, ""},
}

// in says whether a version has the setting.
func (s setting) in(version string) bool {
	return versions.AtLeast(version, cmp.Or(s.since, versions.V34))
}

// settingNamed finds a setting of a version, or the refusal that lists them all.
func settingNamed(name, version string) (setting, *rest.Reply) {
	var names []string
	for _, s := range all {
		if !s.in(version) {
			continue
		}
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	rep := rest.BadField(name, fmt.Sprintf("%s is not a valid config setting (valid settings are: %s).", name, strings.Join(names, ", ")))
	rep.Kind = "application/json"
	return setting{}, &rep
}

// archive is a setting that became a package repository (api/maas.py,
// migrated_config_values).
func archive(w *world.World, name string) *site.Repository {
	for _, r := range w.Site.Repositories {
		if r.Default && r.Name == name {
			return r
		}
	}
	return nil
}

// currentName is a setting's name today.
func currentName(name string) string {
	if name == "ntp_server" {
		return "ntp_servers"
	}
	return name
}

func getConfig(c *request.Call) rest.Reply {
	if !c.Query.Has("name") {
		return rest.BadText("No provided name!")
	}
	name := currentName(rest.Last(c.Query["name"]))
	if r := archive(c.World, name); r != nil {
		return jsonValue(r.URL)
	}
	s, unknown := settingNamed(name, c.World.Version)
	if unknown != nil {
		return *unknown
	}
	return jsonValue(s.value(c.World))
}

func jsonValue(value any) rest.Reply {
	rep := rest.OK(value)
	rep.Kind = "application/json"
	return rep
}

// value is what a setting is set to, or its default.
func (s setting) value(w *world.World) any {
	if value, isSet := w.Site.Settings[s.name]; isSet {
		return value
	}
	switch s.name {
	case "default_distro_series", "commissioning_distro_series":
		return w.DefaultSeries()
	case "allow_only_trusted_transfers":
		return versions.AtLeast(w.Version, versions.V38)
	}
	return s.initial
}

func setConfig(c *request.Call) rest.Reply {
	switch {
	case !c.Has("name"):
		return rest.BadText("No provided name!")
	case c.Field("name") == "":
		return rest.BadText("Invalid name: Please enter a value")
	case !c.Has("value"):
		return rest.BadText("No provided value!")
	}
	name, text := currentName(c.Field("name")), c.Field("value")
	if r := archive(c.World, name); r != nil {
		return setArchive(c, r, text)
	}
	s, unknown := settingNamed(name, c.World.Version)
	if unknown != nil {
		return *unknown
	}
	value, problem := s.kind.read(c.World, text)
	if problem != "" {
		return rest.BadField(name, problem)
	}
	c.World.Site.Settings[name] = value
	return allOK()
}

func setArchive(c *request.Call, r *site.Repository, text string) rest.Reply {
	if strings.TrimSpace(text) == "" {
		return rest.BadField(r.Name, rest.MsgRequired)
	}
	url, problem := address{}.read(c.World, text)
	if problem != "" {
		return rest.BadField(r.Name, "Enter a valid URL.")
	}
	r.URL = fmt.Sprint(url)
	return allOK()
}

func allOK() rest.Reply {
	return rest.Reply{Status: http.StatusOK, Kind: rest.TypePlain, Header: rest.APIHeader(), Body: []byte("OK")}
}

// osystemsOf are the systems whose images there are, and the releases of one.
func osystemsOf(w *world.World) (systems []string, releases map[string][]string) {
	releases = map[string][]string{}
	for _, image := range w.Images {
		system, release, _ := strings.Cut(image, "/")
		if releases[system] == nil {
			systems = append(systems, system)
		}
		releases[system] = append(releases[system], release)
	}
	slices.Sort(systems)
	for _, of := range releases {
		slices.Sort(of)
	}
	return systems, releases
}
