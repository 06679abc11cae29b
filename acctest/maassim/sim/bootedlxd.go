package sim

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// bootedLXD is the LXD of a machine while its user-data runs.
type bootedLXD struct {
	series    string
	disks     []bootDisk
	addresses []string // of the machine
	// interfaces are those that MAAS configured.
	interfaces []string
	files      map[string]string

	version  string // empty: not installed
	channel  string // of the snap
	pools    []StoragePoolModel
	networks []string
	projects []string
	profiles map[string]map[string]map[string]any // devices, by project/name
	rootPool string                               // where the profile that MAAS uses puts disks
	// config of storage pools, projects, networks and profiles, by kind and name.
	config   map[string]map[string]string
	trusted  []trust
	password string
	listen   string // core.https_address as host:port, empty: nowhere
	problems []string
}

// bootDisk is a disk of the machine.
type bootDisk struct {
	paths     []string
	sizeBytes int64
	system    bool // holds the system
	used      bool // by a storage pool
}

// preinstalled is the LXD in Ubuntu's images, by series. Later ones get theirs
// when it is first called.
var preinstalled = map[string]string{"focal": "4.0.9", "jammy": "5.0.4"}

// calledFirst is the version that comes with the first call where none is
// installed, and where no channel is named.
const calledFirst = "5.21.3"

// channels are the versions behind the snap's tracks.
var channels = map[string]string{"4.0": "4.0.9", "5.0": "5.0.4", "5.21": "5.21.3", "6": "6.5", "latest": "6.5"}

func (b *bootedLXD) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// clone is a copy to try something on.
func (b *bootedLXD) clone() *bootedLXD {
	c := *b
	c.disks, c.pools, c.networks = slices.Clone(b.disks), slices.Clone(b.pools), slices.Clone(b.networks)
	c.projects, c.trusted, c.profiles = slices.Clone(b.projects), slices.Clone(b.trusted), maps.Clone(b.profiles)
	c.config = maps.Clone(b.config)
	return &c
}

// ensure installs LXD where it is not there.
func (b *bootedLXD) ensure() { b.version = or(b.version, calledFirst) }

// install is snap install, which leaves an LXD that is there as it is, or snap
// refresh, which needs one.
func (b *bootedLXD) install(channel string, refresh bool) error {
	track, _, _ := strings.Cut(or(channel, "latest/stable"), "/")
	if slices.Contains([]string{"stable", "candidate", "beta", "edge"}, track) {
		track = "latest"
	}
	version, known := channels[track]
	switch {
	case !known:
		return fmt.Errorf("snap: lxd has no channel %q", channel)
	case refresh && b.version == "":
		return errors.New(`snap: "lxd" is not installed`)
	case refresh && channel == "":
		return nil // stays on its track
	case refresh || b.version == "":
		b.version, b.channel = version, channel
	}
	return nil
}

// listenOn sets core.https_address.
func (b *bootedLXD) listenOn(address string) error {
	if address == "" {
		b.listen = ""
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), "8443"
	}
	if !isWildcard(host) && !isLoopback(host) && !slices.Contains(b.addresses, host) {
		return fmt.Errorf("cannot listen on network HTTPS socket: listen tcp %s: bind: cannot assign requested address", address)
	}
	b.listen = net.JoinHostPort(host, or(port, "8443"))
	return nil
}

func isWildcard(host string) bool { return slices.Contains([]string{"", "::", "0.0.0.0"}, host) }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serverKeys are the areas of LXD's configuration, and all keys of the one that
// matters here.
var serverKeys = map[string][]string{
	"acme": nil, "backups": nil, "candid": nil, "cluster": nil, "images": nil, "instances": nil, "loki": nil,
	"maas": nil, "network": nil, "oidc": nil, "rbac": nil, "storage": nil, "user": nil,
	"core": {"bgp_address", "bgp_asn", "bgp_routerid", "debug_address", "dns_address", "https_address",
		"https_allowed_credentials", "https_allowed_headers", "https_allowed_methods", "https_allowed_origin",
		"https_trusted_proxy", "metrics_address", "metrics_authentication", "proxy_http", "proxy_https",
		"proxy_ignore_hosts", "remote_token_expiry", "shutdown_timeout", "storage_buckets_address", "syslog_socket",
		"trust_ca_certificates", "trust_password"},
}

// configure sets a key of the server's configuration.
func (b *bootedLXD) configure(key, value string) error {
	area, name, _ := strings.Cut(key, ".")
	names, known := serverKeys[area]
	switch {
	case !known || len(names) > 0 && !slices.Contains(names, name):
		return fmt.Errorf("cannot set %q to %q: unknown key", key, value)
	case key == "core.https_address":
		return b.listenOn(value)
	case key == "core.trust_password":
		if (&lxdServer{version: b.version}).since(withoutPassword) {
			return fmt.Errorf("cannot set %q: unknown key", key)
		}
		b.password = value
	}
	return nil
}

// addTrust trusts certificates, in projects that there are.
func (b *bootedLXD) addTrust(certificates []string, restricted bool, projects []string) error {
	if len(certificates) == 0 {
		return errors.New("lxc config trust add: no certificate found")
	}
	for _, name := range projects {
		if !slices.Contains(b.projects, name) {
			return fmt.Errorf("lxc config trust add: project %q not found", name)
		}
	}
	for _, certificate := range certificates {
		if _, known := (&lxdServer{trusted: b.trusted}).trusting(certificate); !known {
			b.trusted = append(b.trusted, trust{certificate: certificate, restricted: restricted, projects: projects})
		}
	}
	return nil
}

func (b *bootedLXD) addProject(name string) error {
	if name == "" {
		return errors.New("a project without a name")
	}
	if !slices.Contains(b.projects, name) {
		b.projects = append(b.projects, name)
	}
	return nil
}

// storagePools are the pools with the one marked that MAAS takes by default.
func (b *bootedLXD) storagePools() []StoragePoolModel {
	pools := slices.Clone(b.pools)
	i := max(slices.IndexFunc(pools, func(p StoragePoolModel) bool { return p.Name == b.rootPool }), 0)
	if len(pools) > 0 {
		pools[i].Default = true
	}
	return pools
}
