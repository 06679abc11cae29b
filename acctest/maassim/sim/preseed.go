package sim

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lxdPreseed is what "lxd init --preseed" reads. A field that it does not know
// is an error, as there.
type lxdPreseed struct {
	Config       map[string]any `yaml:"config"`
	StoragePools []struct {
		Name        string         `yaml:"name"`
		Driver      string         `yaml:"driver"`
		Description string         `yaml:"description"`
		Config      map[string]any `yaml:"config"`
	} `yaml:"storage_pools"`
	StorageVolumes []any `yaml:"storage_volumes"`
	Networks       []struct {
		Name        string         `yaml:"name"`
		Type        string         `yaml:"type"`
		Project     string         `yaml:"project"`
		Description string         `yaml:"description"`
		Config      map[string]any `yaml:"config"`
	} `yaml:"networks"`
	Projects []struct {
		Name        string         `yaml:"name"`
		Description string         `yaml:"description"`
		Config      map[string]any `yaml:"config"`
	} `yaml:"projects"`
	Profiles []lxdProfile   `yaml:"profiles"`
	Cluster  map[string]any `yaml:"cluster"`
}

// lxdProfile is a profile with its devices.
type lxdProfile struct {
	Name        string                    `yaml:"name"`
	Project     string                    `yaml:"project"`
	Description string                    `yaml:"description"`
	Config      map[string]any            `yaml:"config"`
	Devices     map[string]map[string]any `yaml:"devices"`
}

// preseed initialises LXD, or leaves it as it was.
func (b *bootedLXD) preseed(text string) error {
	b.ensure()
	var in lxdPreseed
	if strings.TrimSpace(text) != "" {
		d := yaml.NewDecoder(strings.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&in); err != nil {
			return fmt.Errorf("lxd init --preseed: %w", err)
		}
	}
	next := b.clone()
	if err := next.applyPreseed(in); err != nil {
		return fmt.Errorf("lxd init --preseed: %w", err)
	}
	*b = *next
	return nil
}

// applyPreseed goes in LXD's order.
func (b *bootedLXD) applyPreseed(in lxdPreseed) error {
	for key, value := range texts(in.Config) {
		if err := b.configure(key, value); err != nil {
			return err
		}
	}
	for _, p := range in.StoragePools {
		if err := b.addPool(p.Name, p.Driver, texts(p.Config)); err != nil {
			return err
		}
	}
	for _, n := range in.Networks {
		b.networks = append(b.networks, n.Name)
		b.config["network "+n.Name] = texts(n.Config)
	}
	for _, p := range in.Projects {
		if err := b.addProject(p.Name); err != nil {
			return err
		}
		b.config["project "+p.Name] = texts(p.Config)
	}
	for _, p := range in.Profiles {
		if err := b.applyProfile(p); err != nil {
			return err
		}
	}
	return nil
}

// applyProfile checks what LXD checks: a pool or a parent that does not exist
// shows only once a VM is made.
func (b *bootedLXD) applyProfile(p lxdProfile) error {
	for name, device := range p.Devices {
		d := texts(device)
		if network := d["network"]; network != "" && !slices.Contains(b.networks, network) {
			return fmt.Errorf("device validation failed for %q: network %q not found", name, network)
		}
		if d["type"] == "disk" && d["path"] == "/" {
			b.rootPool = d["pool"]
		}
	}
	b.profiles[or(p.Project, "default")+"/"+p.Name] = p.Devices
	b.config["profile "+or(p.Project, "default")+"/"+p.Name] = texts(p.Config)
	return nil
}

// texts are the values as LXD keeps them.
func texts(config map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range config {
		if out[key] = ""; value != nil {
			out[key] = fmt.Sprint(value)
		}
	}
	return out
}
