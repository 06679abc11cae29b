package diagnostics

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
)

// specFields are the first parts of the fields that the engine's errors name,
// and the attributes of maaslxd_vm and maaslxd_vm_host, or of a data source, that they are.
var specFields = map[string]string{
	"name": "name", "hostname": "hostname", "vm_host": "vm_host", "placement": "placement",
	"cores": "cores", "pinned_cores": "pinned_cores", "memory_mib": "memory_mib", "hugepages": "hugepages", "profile": "profile", "config": "config", "devices": "devices",
	"disks": "disks", "interfaces": "interfaces",
	"zone": "zone", "pool": "pool", "domain": "domain", "tags": "tags", "deploy": "deploy", "deletion_protection": "deletion_protection", "power_state": "power_state", "annotations": "annotations", "redeploy_triggers": "redeploy_triggers", "description": "description",
	"filter":  "filter",
	"machine": "machine", "selector": "selector", "address": "address", "bridge": "bridge", "network": "network", "lxd": "lxd", "project": "lxd",
	"cpu_overcommit": "cpu_overcommit", "memory_overcommit": "memory_overcommit", "default_storage_pool": "default_storage_pool", "server_fingerprint": "server_fingerprint",
}

// attributePath is where a field of the spec stands in the configuration:
// "disks.root.pool" is disks["root"].pool. Empty for what has no attribute.
func attributePath(field string) path.Path {
	parts := strings.Split(field, ".")
	root, ok := specFields[parts[0]]
	if !ok {
		return path.Empty()
	}
	switch {
	case parts[0] == "project":
		return projectPath(nil)
	case root == "network":
		return networkPath(field)
	case root == "lxd":
		return lxdPath(parts[1:])
	case root == "config" && len(parts) > 1: // keys of options have dots
		return path.Root(root).AtMapKey(strings.Join(parts[1:], "."))
	}
	at := path.Root(root)
	for i, part := range parts[1:] {
		number, err := strconv.Atoi(part)
		switch {
		case i == 0 && (root == "disks" || root == "interfaces" || root == "devices"), i == 2 && root == "devices": // devices.gpu0.properties.pci
			at = at.AtMapKey(part)
		case i == 2 && root == "interfaces" && err == nil: // interfaces.eth0.addresses.0
			at = at.AtListIndex(number)
		case root == "deploy" && part == "user_data":
			at = at.AtName("user_data_wo")
		default:
			at = at.AtName(part)
		}
	}
	return at
}

// networkField takes a field of a host's network apart: the section, the name of an
// interface, a number of its links, and attributes.
var networkField = regexp.MustCompile(`^network\.(bonds|vlans|bridges)\["([^"]+)"\](?:\.(links)\[(\d+)\])?(?:\.(\w+))?$`)

// networkPath is attributePath for a host's network, whose interfaces may have dots in
// their names: network.vlans["bond0.100"].links[0].subnet.
func networkPath(field string) path.Path {
	parts := networkField.FindStringSubmatch(field)
	if parts == nil {
		at := path.Root("network")
		if _, section, found := strings.Cut(field, "."); found && !strings.ContainsAny(section, `.["`) {
			at = at.AtName(section)
		}
		return at
	}
	at := path.Root("network").AtName(parts[1]).AtMapKey(parts[2])
	if n, err := strconv.Atoi(parts[4]); err == nil {
		at = at.AtName(parts[3]).AtListIndex(n)
	}
	if parts[5] != "" {
		at = at.AtName(parts[5])
	}
	return at
}
