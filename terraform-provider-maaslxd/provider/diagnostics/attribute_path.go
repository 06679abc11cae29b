package diagnostics

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
)

// specFields are the first parts of the fields that the engine's errors name,
// and the attributes of maaslxd_vm and maaslxd_vm_host that they are.
var specFields = map[string]string{
	"name": "name", "vm_host": "vm_host", "placement": "placement",
	"cores": "cores", "pinned_cores": "pinned_cores", "memory_mib": "memory_mib", "hugepages": "hugepages", "profile": "profile",
	"disks": "disks", "interfaces": "interfaces",
	"zone": "zone", "pool": "pool", "domain": "domain", "tags": "tags", "deploy": "deploy",
	"machine": "machine", "selector": "selector", "address": "address", "bridge": "bridge", "lxd": "lxd", "project": "lxd",
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
	case root == "lxd":
		return lxdPath(parts[1:])
	}
	at := path.Root(root)
	for i, part := range parts[1:] {
		switch {
		case i == 0 && (root == "disks" || root == "interfaces"):
			at = at.AtMapKey(part)
		case root == "deploy" && part == "user_data":
			at = at.AtName("user_data_wo")
		default:
			at = at.AtName(part)
		}
	}
	return at
}
