package sim

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Where MAAS's installer leaves what a machine must know at its first boot.
const (
	datasourceFile = "/etc/cloud/cloud.cfg.d/90_dpkg_local_cloud_config.cfg"
	networkFile    = "/etc/cloud/cloud.cfg.d/50-curtin-networking.cfg"
)

// Installed is what MAAS's installer leaves on the disk of a machine with the
// first boot "real" that is Deploying, by path: where cloud-init finds the
// metadata and with which credentials, and the network as MAAS has it, with its
// bridges and addresses. The URL is the simulator's, as the machine reaches it:
// http://10.0.0.1:5240/MAAS.
func (s *Sim) Installed(machine, url string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.machineFor(machine)
	if err != nil {
		return nil, err
	}
	if m.firstBoot != BootReal || m.status != StatusDeploying && m.status != StatusDeployed {
		return nil, fmt.Errorf("%s is %s, with the first boot %q: nothing is being installed that boots", m.hostname, m.status, m.firstBoot)
	}
	files := map[string]string{}
	for path, config := range map[string]any{datasourceFile: m.datasource(url), networkFile: object{"network": m.netplan()}} {
		text, err := yaml.Marshal(config)
		if err != nil {
			return nil, err
		}
		files[path] = string(text)
	}
	// In one line: that is how cloud-init's ds-identify, a shell script, reads it.
	files[datasourceFile] = "datasource_list: [ MAAS ]\n" + files[datasourceFile]
	return files, nil
}

func (m *machine) datasource(url string) object {
	key := m.machineKey()
	credentials := func(more object) object {
		more["consumer_key"], more["token_key"], more["token_secret"] = key.consumer, key.token, key.secret
		return more
	}
	return object{
		"datasource": object{"MAAS": credentials(object{"metadata_url": url + "/metadata/"})},
		"reporting":  object{"maas": credentials(object{"type": "webhook", "endpoint": url + "/metadata/status/" + m.systemID})},
	}
}

// netplan is the network of the machine in netplan's words, version 2. NICs go
// by their names alone: netplan matches permanent addresses, which the virtual
// ones of a container lack.
func (m *machine) netplan() object {
	ethernets, bridges := object{}, object{}
	for _, n := range m.nics {
		config := object{"addresses": []string{}}
		for _, l := range n.links {
			if l.ip != "" && l.subnet != nil {
				config["addresses"] = append(config["addresses"].([]string), fmt.Sprintf("%s/%d", l.ip, l.subnet.cidr.Bits()))
			}
			if l.ip != "" && l.subnet != nil && l.subnet.gateway != "" {
				config["routes"] = []object{{"to": "default", "via": l.subnet.gateway}}
			}
		}
		if n.kind != "bridge" {
			ethernets[n.name] = config
			continue
		}
		var parents []string
		for _, p := range n.parents {
			parents = append(parents, p.name)
		}
		config["interfaces"], config["macaddress"] = parents, n.mac
		config["parameters"] = object{"stp": false, "forward-delay": 0}
		bridges[n.name] = config
	}
	config := object{"version": 2, "ethernets": ethernets}
	if len(bridges) > 0 {
		config["bridges"] = bridges
	}
	return config
}
