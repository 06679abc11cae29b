package daemon

import (
	"fmt"
	"net"
	"slices"
)

// Port is LXD's default port.
const Port = "8443"

// IsWildcard tells whether an address stands for all addresses of a machine.
func IsWildcard(host string) bool { return slices.Contains([]string{"", "::", "0.0.0.0"}, host) }

// IsLoopback tells whether a host is a loopback address or localhost.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ServerKeys are the areas of LXD's server configuration. The keys are complete only for
// the area that matters here.
var ServerKeys = map[string][]string{
	"acme": nil, "backups": nil, "candid": nil, "cluster": nil, "images": nil, "instances": nil, "loki": nil,
	"maas": nil, "network": nil, "oidc": nil, "rbac": nil, "storage": nil, "user": nil,
	"core": {"bgp_address", "bgp_asn", "bgp_routerid", "debug_address", "dns_address", "https_address",
		"https_allowed_credentials", "https_allowed_headers", "https_allowed_methods", "https_allowed_origin",
		"https_trusted_proxy", "metrics_address", "metrics_authentication", "proxy_http", "proxy_https",
		"proxy_ignore_hosts", "remote_token_expiry", "shutdown_timeout", "storage_buckets_address", "syslog_socket",
		"trust_ca_certificates", "trust_password"},
}

// ConfigTexts are the values as LXD stores them.
func ConfigTexts(config map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range config {
		if out[key] = ""; value != nil {
			out[key] = fmt.Sprint(value)
		}
	}
	return out
}
