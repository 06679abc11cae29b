package boot

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// LXD is the LXD of a machine while its user-data runs.
type LXD struct {
	series    string
	Disks     []Disk
	Addresses []string // addresses of the machine
	// Interfaces are the interfaces that MAAS configured.
	Interfaces []string
	files      map[string]string

	Version  string // empty: not installed
	channel  string // channel of the snap
	Pools    []daemon.StoragePool
	Networks []string
	Projects []string
	Profiles map[string]map[string]map[string]any // devices, by project/name
	rootPool string                               // the pool for disks in the profile that MAAS uses
	// Config of storage pools, projects, networks and profiles, by kind and name.
	Config   map[string]map[string]string
	Trusted  []daemon.Trust
	Password string
	Listen   string // core.https_address as host:port, empty: nowhere
	Problems []string
}

// New is the LXD of a machine before its user-data runs. The series of Ubuntu decides
// which LXD is preinstalled.
func New(series string, addresses []string) *LXD {
	return &LXD{
		series: series, Addresses: addresses, Version: preinstalledVersions[series], Projects: []string{"default"}, files: map[string]string{},
		Profiles: map[string]map[string]map[string]any{}, Config: map[string]map[string]string{},
	}
}

// Disk is a disk of the machine.
type Disk struct {
	Paths     []string
	SizeBytes int64
	System    bool // whether it holds the system
	Used      bool // whether a storage pool uses it
}

// preinstalledVersions are the LXD versions in Ubuntu's images, by series. Later series
// install LXD when it is first called.
var preinstalledVersions = map[string]string{"focal": "4.0.9", "jammy": "5.0.4"}

// firstCallVersion is the version that the first call installs, and that a snap without a
// channel installs.
const firstCallVersion = "5.21.3"

// channelVersions are the versions in the snap's tracks.
var channelVersions = map[string]string{"4.0": "4.0.9", "5.0": "5.0.4", "5.21": "5.21.3", "6": "6.5", "latest": "6.5"}

// AddProblem notes a problem of the first boot.
func (b *LXD) AddProblem(format string, args ...any) {
	b.Problems = append(b.Problems, fmt.Sprintf(format, args...))
}

// clone copies it, so that a change can be tried on the copy.
func (b *LXD) clone() *LXD {
	c := *b
	c.Disks, c.Pools, c.Networks = slices.Clone(b.Disks), slices.Clone(b.Pools), slices.Clone(b.Networks)
	c.Projects, c.Trusted, c.Profiles = slices.Clone(b.Projects), slices.Clone(b.Trusted), maps.Clone(b.Profiles)
	c.Config = maps.Clone(b.Config)
	return &c
}

// ensureInstalled installs LXD if it is missing.
func (b *LXD) ensureInstalled() { b.Version = cmp.Or(b.Version, firstCallVersion) }

// install is "snap install", which does not change an installed LXD, or "snap refresh",
// which needs an installed one.
func (b *LXD) install(channel string, refresh bool) error {
	track, _, _ := strings.Cut(cmp.Or(channel, "latest/stable"), "/")
	if slices.Contains([]string{"stable", "candidate", "beta", "edge"}, track) {
		track = "latest"
	}
	version, known := channelVersions[track]
	switch {
	case !known:
		return fmt.Errorf("snap: lxd has no channel %q", channel)
	case refresh && b.Version == "":
		return errors.New(`snap: "lxd" is not installed`)
	case refresh && channel == "":
		return nil // stays on its track
	case refresh || b.Version == "":
		b.Version, b.channel = version, channel
	}
	return nil
}

// listenOn sets core.https_address.
func (b *LXD) listenOn(address string) error {
	if address == "" {
		b.Listen = ""
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), "8443"
	}
	if !daemon.IsWildcard(host) && !daemon.IsLoopback(host) && !slices.Contains(b.Addresses, host) {
		return fmt.Errorf("cannot listen on network HTTPS socket: listen tcp %s: bind: cannot assign requested address", address)
	}
	b.Listen = net.JoinHostPort(host, cmp.Or(port, "8443"))
	return nil
}

// setServerKey sets a key of the server's configuration.
func (b *LXD) setServerKey(key, value string) error {
	area, name, _ := strings.Cut(key, ".")
	names, known := daemon.ServerKeys[area]
	switch {
	case !known || len(names) > 0 && !slices.Contains(names, name):
		return fmt.Errorf("cannot set %q to %q: unknown key", key, value)
	case key == "core.https_address":
		return b.listenOn(value)
	case key == "core.trust_password":
		if daemon.IsAtLeast(b.Version, daemon.VersionWithoutPassword) {
			return fmt.Errorf("cannot set %q: unknown key", key)
		}
		b.Password = value
	}
	return nil
}

// addTrust trusts certificates, in projects that must exist.
func (b *LXD) addTrust(certificates []string, restricted bool, projects []string) error {
	if len(certificates) == 0 {
		return errors.New("lxc config trust add: no certificate found")
	}
	for _, name := range projects {
		if !slices.Contains(b.Projects, name) {
			return fmt.Errorf("lxc config trust add: project %q not found", name)
		}
	}
	for _, certificate := range certificates {
		if _, known := daemon.FindTrust(b.Trusted, certificate); !known {
			b.Trusted = append(b.Trusted, daemon.Trust{Certificate: certificate, Restricted: restricted, Projects: projects})
		}
	}
	return nil
}

func (b *LXD) addProject(name string) error {
	if name == "" {
		return errors.New("a project without a name")
	}
	if !slices.Contains(b.Projects, name) {
		b.Projects = append(b.Projects, name)
	}
	return nil
}

// StoragePools are the pools. The pool that MAAS uses by default is marked.
func (b *LXD) StoragePools() []daemon.StoragePool {
	pools := slices.Clone(b.Pools)
	i := max(slices.IndexFunc(pools, func(p daemon.StoragePool) bool { return p.Name == b.rootPool }), 0)
	if len(pools) > 0 {
		pools[i].Default = true
	}
	return pools
}
