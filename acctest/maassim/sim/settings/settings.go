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

// setting is one setting.
type setting struct {
	name    string
	kind    settingKind
	initial any
	since   string // first version with it; "" for 3.4
}

// allSettings are MAAS's settings in its own order (forms/settings.py, CONFIG_ITEMS). The
// defaults come from models/config.py, because the defaults in CONFIG_ITEMS only appear in
// forms.
var allSettings = []setting{
	{"maas_name", textKind{required: true}, "maassim", ""},
	{"theme", textKind{}, "", ""},
	{"kernel_opts", textKind{}, nil, ""},
	{"enable_http_proxy", checkbox{}, true, ""},
	{"maas_proxy_port", portKind{}, 8000, ""},
	{"use_peer_proxy", checkbox{}, false, ""},
	{"prefer_v4_proxy", checkbox{}, false, ""},
	{"http_proxy", urlKind{}, nil, ""},
	{"default_dns_ttl", wholeNumber{}, 30, ""},
	{"upstream_dns", addressListKind{}, nil, ""},
	{"dnssec_validation", choiceKind{values: []string{"auto", "yes", "no"}, name: "dnssec_validation"}, "auto", ""},
	{"maas_internal_domain", internalDomainKind{}, "maas-internal", ""},
	{"dns_trusted_acl", hostListKind{networks: true}, nil, ""},
	{"ntp_servers", hostListKind{}, "ntp.ubuntu.com", ""},
	{"ntp_external_only", checkbox{}, false, ""},
	{"allow_only_trusted_transfers", checkbox{}, false, versions.V35},
	{"remote_syslog", syslogServerKind{}, nil, ""},
	{"maas_syslog_port", portKind{alsoAllowed: 5247}, 5247, ""},
	{"network_discovery", choiceKind{values: []string{"enabled", "disabled"}, name: "network_discovery"}, "enabled", ""},
	{"active_discovery_interval", choiceKind{values: strings.Fields("0 604800 86400 43200 21600 10800 3600 1800 600"), name: "active_discovery_interval"}, 10800, ""},
	{"default_boot_interface_link_type", choiceKind{values: []string{"auto", "dhcp", "static", "link_up"}, required: true}, "auto", versions.V36},
	{"default_osystem", osystemKind{}, "ubuntu", ""},
	{"default_distro_series", seriesKind{name: "release"}, nil, ""},
	{"default_min_hwe_kernel", kernelKind{}, "", ""},
	{"enable_kernel_crash_dump", checkbox{}, false, versions.V36},
	{"default_storage_layout", choiceKind{values: strings.Fields("bcache blank custom flat lvm vmfs6 vmfs7"), required: true}, "flat", ""},
	{"commissioning_distro_series", seriesKind{name: "commissioning_distro_series"}, nil, ""},
	{"enable_third_party_drivers", checkbox{}, true, ""},
	{"windows_kms_host", textKind{}, nil, ""},
	{"enable_disk_erasing_on_release", checkbox{}, false, ""},
	{"disk_erase_with_secure_erase", checkbox{}, true, ""},
	{"disk_erase_with_quick_erase", checkbox{}, false, ""},
	{"boot_images_auto_import", checkbox{}, true, ""},
	{"boot_images_no_proxy", checkbox{}, false, ""},
	{"curtin_verbose", checkbox{}, true, ""},
	{"force_v1_network_yaml", checkbox{}, false, ""},
	{"enable_analytics", checkbox{}, true, ""},
	{"experimental_switch_provisioning", checkbox{}, false, versions.V38},
	{"completed_intro", checkbox{}, false, ""},
	{"max_node_commissioning_results", wholeNumber{min: 1}, 10, ""},
	{"max_node_testing_results", wholeNumber{min: 1}, 10, ""},
	{"max_node_installation_results", wholeNumber{min: 1}, 3, ""},
	{"max_node_release_results", wholeNumber{min: 1}, 3, versions.V35},
	{"subnet_ip_exhaustion_threshold_count", wholeNumber{min: 1}, 16, ""},
	{"refresh_token_duration", wholeNumber{min: 600, max: 5184000}, 2592000, versions.V38},
	{"release_notifications", checkbox{}, true, ""},
	{"use_rack_proxy", checkbox{}, true, ""},
	{"node_timeout", wholeNumber{min: 1}, 30, ""},
	{"prometheus_enabled", checkbox{}, false, ""},
	{"prometheus_push_gateway", textKind{}, nil, ""},
	{"prometheus_push_interval", wholeNumber{}, 60, ""},
	{"promtail_enabled", checkbox{}, false, ""},
	{"promtail_port", wholeNumber{}, 5238, ""},
	{"enlist_commissioning", checkbox{}, true, ""},
	{"maas_auto_ipmi_user", textKind{max: 20}, "maas", ""},
	{"maas_auto_ipmi_user_privilege_level", choiceKind{values: []string{"USER", "OPERATOR", "ADMIN"}, refusalText: "Valid choices are ADMIN, OPERATOR, or USER"}, "ADMIN", ""},
	{"maas_auto_ipmi_k_g_bmc_key", bmcKeyKind{}, "", ""},
	{"maas_auto_ipmi_cipher_suite_id", choiceKind{values: []string{"17", "3", "", "8", "12"}, refusalText: "Valid choices are 17,3,,8,12"}, "3", ""},
	{"maas_auto_ipmi_workaround_flags", flagsKind{}, nil, ""},
	{"vcenter_server", textKind{}, "", ""},
	{"vcenter_username", textKind{}, "", ""},
	{"vcenter_password", textKind{}, "", ""},
	{"vcenter_datacenter", textKind{}, "", ""},
	{"hardware_sync_interval", intervalKind{}, "15m", ""},
	{"tls_cert_expiration_notification_enabled", checkbox{}, false, ""},
	{"tls_cert_expiration_notification_interval", wholeNumber{min: 1, max: 90}, 30, ""},
	{"session_length", wholeNumber{min: 10, max: 1209600}, 1209600, ""},
	{"auto_vlan_creation", checkbox{}, true, ""},
}

// existsIn tells whether a version has the setting.
func (s setting) existsIn(version string) bool {
	return versions.IsAtLeast(version, cmp.Or(s.since, versions.V34))
}

// settingNamed finds a setting of a version. Otherwise it returns the error that lists all
// settings.
func settingNamed(name, version string) (setting, *rest.Reply) {
	var names []string
	for _, s := range allSettings {
		if !s.existsIn(version) {
			continue
		}
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	rep := rest.BadFieldReply(name, fmt.Sprintf("%s is not a valid config setting (valid settings are: %s).", name, strings.Join(names, ", ")))
	rep.Kind = "application/json"
	return setting{}, &rep
}

// repositoryOfSetting is the package repository that replaced an old setting (api/maas.py,
// migrated_config_values).
func repositoryOfSetting(w *world.World, name string) *site.Repository {
	for _, r := range w.Site.Repositories {
		if r.Default && r.Name == name {
			return r
		}
	}
	return nil
}

// currentName is the current name of a setting.
func currentName(name string) string {
	if name == "ntp_server" {
		return "ntp_servers"
	}
	return name
}

func getConfig(c *request.Call) rest.Reply {
	if !c.Query.Has("name") {
		return rest.BadTextReply("No provided name!")
	}
	name := currentName(rest.LastValue(c.Query["name"]))
	if r := repositoryOfSetting(c.World, name); r != nil {
		return jsonValue(r.URL)
	}
	s, unknown := settingNamed(name, c.World.Version)
	if unknown != nil {
		return *unknown
	}
	return jsonValue(s.value(c.World))
}

func jsonValue(value any) rest.Reply {
	rep := rest.OKReply(value)
	rep.Kind = "application/json"
	return rep
}

// value is the value of a setting, or its default.
func (s setting) value(w *world.World) any {
	if value, isSet := w.Site.Settings[s.name]; isSet {
		return value
	}
	switch s.name {
	case "default_distro_series", "commissioning_distro_series":
		return w.DefaultSeries()
	case "allow_only_trusted_transfers":
		return versions.IsAtLeast(w.Version, versions.V38)
	}
	return s.initial
}

func setConfig(c *request.Call) rest.Reply {
	switch {
	case !c.HasField("name"):
		return rest.BadTextReply("No provided name!")
	case c.Field("name") == "":
		return rest.BadTextReply("Invalid name: Please enter a value")
	case !c.HasField("value"):
		return rest.BadTextReply("No provided value!")
	}
	name, text := currentName(c.Field("name")), c.Field("value")
	if r := repositoryOfSetting(c.World, name); r != nil {
		return setRepositoryURL(c, r, text)
	}
	s, unknown := settingNamed(name, c.World.Version)
	if unknown != nil {
		return *unknown
	}
	value, problem := s.kind.read(c.World, text)
	if problem != "" {
		return rest.BadFieldReply(name, problem)
	}
	c.World.Site.Settings[name] = value
	return okTextReply()
}

func setRepositoryURL(c *request.Call, r *site.Repository, text string) rest.Reply {
	if strings.TrimSpace(text) == "" {
		return rest.BadFieldReply(r.Name, rest.MsgRequired)
	}
	url, problem := urlKind{}.read(c.World, text)
	if problem != "" {
		return rest.BadFieldReply(r.Name, "Enter a valid URL.")
	}
	r.URL = fmt.Sprint(url)
	return okTextReply()
}

func okTextReply() rest.Reply {
	return rest.Reply{Status: http.StatusOK, Kind: rest.TypePlain, Header: rest.APIHeader(), Body: []byte("OK")}
}

// osystemsOf are the operating systems with images, and the releases of one of them.
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
