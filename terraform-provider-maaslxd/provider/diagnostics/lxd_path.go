package diagnostics

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
)

// lxdKeyed are the attributes of lxd whose keys are the user's, and the
// attributes of what they hold. Names in LXD may have dots.
var lxdKeyed = map[string][]string{
	"storage_pools": {"driver", "size_gb", "source", "wipe", "ceph"},
	"networks":      {"kind", "parent", "ipv4_address", "ipv6_address", "nat"},
}

// lxdPath is where a field of cloudinit's stands in the configuration:
// "storage_pools.fast.ceph.pool" is lxd.storage_pools["fast"].ceph.pool.
func lxdPath(parts []string) path.Path {
	at := path.Root("lxd")
	if len(parts) == 0 {
		return at
	}
	first, rest := parts[0], parts[1:]
	switch inner := lxdKeyed[first]; {
	case inner != nil && len(rest) > 0:
		n := slices.IndexFunc(rest[1:], func(p string) bool { return slices.Contains(inner, p) }) + 1
		if n == 0 {
			return at.AtName(first).AtMapKey(strings.Join(rest, "."))
		}
		at = at.AtName(first).AtMapKey(strings.Join(rest[:n], "."))
		rest = rest[n:]
	case first == "project":
		return projectPath(rest)
	case strings.HasPrefix(first, "trusted_certificates"):
		return at.AtName("trusted_certificates")
	default:
		at = at.AtName(first)
	}
	for _, part := range rest {
		at = at.AtName(part)
	}
	return at
}

// projectPath is where a field of the project stands: all of it is flat.
func projectPath(rest []string) path.Path {
	at := path.Root("lxd")
	if len(rest) > 1 && slices.Contains([]string{"features", "limits"}, rest[0]) {
		return at.AtName("project_" + rest[0]).AtMapKey(strings.Join(rest[1:], "."))
	}
	if len(rest) > 0 && rest[0] != "name" {
		return at.AtName("project_" + rest[0])
	}
	return at.AtName("project")
}
