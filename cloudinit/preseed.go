package cloudinit

import (
	"fmt"
	"net"
	"strconv"

	"github.com/canonical/lxd/shared/api"
	yaml "gopkg.in/yaml.v2"
)

// Preseed returns the input of "lxd init --preseed", or the error of Validate. It has no
// certificates, because LXD's preseed has no key for them. It also lacks the profile of a
// project with its own profiles, which a preseed cannot name.
func (h Host) Preseed() (*api.InitPreseed, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	return h.withDefaults().buildPreseed(), nil
}

func (h Host) buildPreseed() *api.InitPreseed {
	local := api.InitLocalPreseed{}
	local.Config = map[string]any{"core.https_address": h.httpsAddress()}
	for _, name := range sortedNames(h.StoragePools) {
		local.StoragePools = append(local.StoragePools, h.StoragePools[name].createRequest(name))
	}
	for _, name := range sortedNames(h.Networks) {
		if n := h.Networks[name]; n.Kind == Managed {
			local.Networks = append(local.Networks, n.createRequest(name))
		}
	}
	if h.Project.Name != "default" {
		local.Projects = []api.ProjectsPost{h.projectRequest()}
	}
	if !h.hasOwnProfiles() {
		local.Profiles = []api.ProfilesPost{{Name: h.Profile.Name, ProfilePut: h.profileRequest()}}
	}
	return &api.InitPreseed{Node: local}
}

// httpsAddress returns LXD's core.https_address. Without ListenAddress it is all addresses
// of both families.
func (h Host) httpsAddress() string {
	return net.JoinHostPort(valueOr(h.ListenAddress, "::"), strconv.Itoa(h.ListenPort))
}

// hasOwnProfiles reports whether the project has its own profiles. Every project but
// "default" has them, unless Features says otherwise.
func (h Host) hasOwnProfiles() bool {
	own, told := h.Project.Features["profiles"]
	return h.Project.Name != "default" && (own || !told)
}

func (s StoragePool) createRequest(name string) api.StoragePoolsPost {
	config := map[string]string{}
	if s.Source != "" {
		config["source"] = s.Source
	}
	if s.SizeGB > 0 {
		config["size"] = strconv.FormatInt(s.SizeGB, 10) + "GB" // LXD's GB is 10⁹ bytes, its GiB 2³⁰
	}
	if s.Wipe {
		config["source.wipe"] = "true"
	}
	if s.Ceph != nil {
		config["source"] = s.Ceph.Pool
		config["ceph.cluster_name"] = s.Ceph.Cluster
		if s.Ceph.User != "" {
			config["ceph.user.name"] = s.Ceph.User
		}
	}
	return api.StoragePoolsPost{Name: name, Driver: string(s.Driver), StoragePoolPut: api.StoragePoolPut{Config: config}}
}

func (n Network) createRequest(name string) api.InitNetworksProjectPost {
	config := map[string]string{"ipv4.address": n.IPv4Address, "ipv6.address": n.IPv6Address}
	for family, address := range map[string]string{"ipv4": n.IPv4Address, "ipv6": n.IPv6Address} {
		if address != "none" {
			config[family+".nat"] = strconv.FormatBool(n.NAT)
		}
	}
	return api.InitNetworksProjectPost{NetworksPost: api.NetworksPost{
		Name: name, Type: "bridge", NetworkPut: api.NetworkPut{Config: config},
	}}
}

// projectRequest always sets the feature profiles explicitly. If a project request has no
// config at all, LXD gives it none of the features that other projects get.
func (h Host) projectRequest() api.ProjectsPost {
	post := h.Project.createRequest()
	if h.Project.Name != api.ProjectDefaultName {
		post.Config["features.profiles"] = strconv.FormatBool(h.hasOwnProfiles())
	}
	return post
}

func (p Project) createRequest() api.ProjectsPost {
	config := map[string]string{}
	for name, on := range p.Features {
		config["features."+name] = strconv.FormatBool(on)
	}
	for name, limit := range p.Limits {
		config["limits."+name] = limit
	}
	return api.ProjectsPost{Name: p.Name, ProjectPut: api.ProjectPut{Description: p.Description, Config: config}}
}

func (h Host) profileRequest() api.ProfilePut {
	return api.ProfilePut{Config: h.Profile.Config, Devices: map[string]map[string]string{
		"root": {"type": "disk", "path": "/", "pool": h.Profile.Pool},
		"eth0": h.Networks[h.Profile.Network].nicDevice(h.Profile.Network),
	}}
}

// nicDevice returns an instance's device on the network.
func (n Network) nicDevice(name string) map[string]string {
	switch n.Kind {
	case Managed:
		return map[string]string{"type": "nic", "name": "eth0", "network": name}
	case Macvlan:
		return map[string]string{"type": "nic", "name": "eth0", "nictype": "macvlan", "parent": n.Parent}
	default:
		return map[string]string{"type": "nic", "name": "eth0", "nictype": "bridged", "parent": name}
	}
}

// marshalChecked writes YAML without empty values, and decodes it strictly, as LXD does
// first. Otherwise an unknown key would be refused only on the machine.
func marshalChecked[T any](value T) ([]byte, error) {
	full, err := yaml.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("cannot write YAML: %w", err)
	}
	var tree yaml.MapSlice
	if err := yaml.Unmarshal(full, &tree); err != nil {
		return nil, fmt.Errorf("cannot read the YAML just written: %w", err)
	}
	short, err := yaml.Marshal(pruneEmpty(tree))
	if err != nil {
		return nil, fmt.Errorf("cannot write YAML: %w", err)
	}
	var back T
	if err := yaml.UnmarshalStrict(short, &back); err != nil {
		return nil, fmt.Errorf("LXD would not read this: %w", err)
	}
	return short, nil
}

// pruneEmpty returns the value without nulls, empty texts, lists and maps; nil if nothing
// is left.
func pruneEmpty(value any) any {
	switch v := value.(type) {
	case yaml.MapSlice:
		var kept yaml.MapSlice
		for _, item := range v {
			if item.Value = pruneEmpty(item.Value); item.Value != nil {
				kept = append(kept, item)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	case []any:
		var kept []any
		for _, item := range v {
			if item = pruneEmpty(item); item != nil {
				kept = append(kept, item)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	case string:
		if v == "" {
			return nil
		}
	}
	return value
}
