package boot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// lxdPreseed is the input of "lxd init --preseed". An unknown field is an error, as in
// LXD.
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

// runPreseed initialises LXD completely, or does not change it.
func (b *LXD) runPreseed(text string) error {
	b.ensureInstalled()
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

// applyPreseed makes the objects in LXD's order.
func (b *LXD) applyPreseed(in lxdPreseed) error {
	for key, value := range daemon.ConfigTexts(in.Config) {
		if err := b.setServerKey(key, value); err != nil {
			return err
		}
	}
	for _, p := range in.StoragePools {
		if err := b.AddPool(p.Name, p.Driver, daemon.ConfigTexts(p.Config)); err != nil {
			return err
		}
	}
	for _, n := range in.Networks {
		b.Networks = append(b.Networks, n.Name)
		b.Config["network "+n.Name] = daemon.ConfigTexts(n.Config)
	}
	for _, p := range in.Projects {
		if err := b.addProject(p.Name); err != nil {
			return err
		}
		b.Config["project "+p.Name] = daemon.ConfigTexts(p.Config)
	}
	for _, p := range in.Profiles {
		if err := b.applyProfile(p); err != nil {
			return err
		}
	}
	return nil
}

// applyProfile checks what LXD checks. LXD reports a missing pool or parent only when a VM
// is made.
func (b *LXD) applyProfile(p lxdProfile) error {
	for name, device := range p.Devices {
		d := daemon.ConfigTexts(device)
		if network := d["network"]; network != "" && !slices.Contains(b.Networks, network) {
			return fmt.Errorf("device validation failed for %q: network %q not found", name, network)
		}
		if d["type"] == "disk" && d["path"] == "/" {
			b.rootPool = d["pool"]
		}
	}
	b.Profiles[cmp.Or(p.Project, "default")+"/"+p.Name] = p.Devices
	b.Config["profile "+cmp.Or(p.Project, "default")+"/"+p.Name] = daemon.ConfigTexts(p.Config)
	return nil
}
