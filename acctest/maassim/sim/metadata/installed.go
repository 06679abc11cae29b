package metadata

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Files of MAAS's installer that a machine reads at its first boot.
const (
	DatasourceFile = "/etc/cloud/cloud.cfg.d/90_dpkg_local_cloud_config.cfg"
	NetworkFile    = "/etc/cloud/cloud.cfg.d/50-curtin-networking.cfg"
)

// InstalledFiles are the files that MAAS's installer leaves on the disk of a machine: see
// Sim.InstalledFiles.
func InstalledFiles(m *world.Machine, url string) (map[string]string, error) {
	if m.FirstBoot != world.BootReal || m.Status != world.StatusDeploying && m.Status != world.StatusDeployed {
		return nil, fmt.Errorf("%s is %s, with the first boot %q: nothing is being installed that boots", m.Hostname, m.Status, m.FirstBoot)
	}
	files := map[string]string{}
	for path, config := range map[string]any{DatasourceFile: datasource(m, url), NetworkFile: rest.Object{"network": netplan(m)}} {
		text, err := yaml.Marshal(config)
		if err != nil {
			return nil, err
		}
		files[path] = string(text)
	}
	// The list must be on one line, because cloud-init's ds-identify, a shell script,
	// reads it so.
	files[DatasourceFile] = "datasource_list: [ MAAS ]\n" + files[DatasourceFile]
	return files, nil
}

// datasource tells cloud-init where the metadata service is and where to report.
func datasource(m *world.Machine, url string) rest.Object {
	key := Credentials(m)
	credentials := func(more rest.Object) rest.Object {
		more["consumer_key"], more["token_key"], more["token_secret"] = key.Consumer, key.Key, key.Secret
		return more
	}
	return rest.Object{
		"datasource": rest.Object{"MAAS": credentials(rest.Object{"metadata_url": url + "/metadata/"})},
		"reporting":  rest.Object{"maas": credentials(rest.Object{"type": "webhook", "endpoint": url + "/metadata/status/" + m.SystemID})},
	}
}

// netplan is the machine's network as a netplan of version 2. It matches NICs by name
// only. netplan matches MACs against permanent addresses, which a container's virtual NICs
// do not have.
func netplan(m *world.Machine) rest.Object {
	ethernets, bridges := rest.Object{}, rest.Object{}
	for _, n := range m.NICs {
		config := rest.Object{"addresses": []string{}}
		for _, l := range n.Links {
			if l.IP != "" && l.Subnet != nil {
				config["addresses"] = append(config["addresses"].([]string), fmt.Sprintf("%s/%d", l.IP, l.Subnet.CIDR.Bits()))
			}
			if l.IP != "" && l.Subnet != nil && l.Subnet.Gateway != "" {
				config["routes"] = []rest.Object{{"to": "default", "via": l.Subnet.Gateway}}
			}
		}
		if n.Kind != "bridge" {
			ethernets[n.Name] = config
			continue
		}
		var parents []string
		for _, p := range n.Parents {
			parents = append(parents, p.Name)
		}
		config["interfaces"], config["macaddress"] = parents, n.MAC
		config["parameters"] = rest.Object{"stp": false, "forward-delay": 0}
		bridges[n.Name] = config
	}
	config := rest.Object{"version": 2, "ethernets": ethernets}
	if len(bridges) > 0 {
		config["bridges"] = bridges
	}
	return config
}
