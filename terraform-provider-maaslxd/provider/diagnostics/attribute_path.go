package diagnostics

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// resourceAttributes are the outermost fields of specs that are attributes of a resource or a
// data source. Errors of other fields, such as the provider's own settings, have no attribute.
var resourceAttributes = []string{
	"name", "hostname", "vm_host", "placement",
	"cores", "pinned_cores", "memory_mib", "hugepages", "profile", "config", "devices",
	"disks", "interfaces",
	"zone", "pool", "domain", "tags", "deploy", "deletion_protection", "power_state", "annotations", "redeploy_triggers", "description",
	"filter",
	"machine", "selector", "address", "bridge", "network", "lxd",
	"cpu_overcommit", "memory_overcommit", "default_storage_pool", "server_fingerprint",
}

// actionAttributes are the fields that are attributes of actions, but have another place in
// resources.
var actionAttributes = []string{"image", "kernel", "user_data"}

// relocatedFields are the fields of specs that have another place in the configuration.
var relocatedFields = []struct {
	field fieldpath.Path
	at    path.Path
}{
	{fieldpath.New("deploy", "user_data"), path.Root("deploy").AtName("user_data_wo")},
	{fieldpath.New("project"), path.Root("lxd").AtName("project")},
	{fieldpath.New("lxd", "project", "name"), path.Root("lxd").AtName("project")},
	{fieldpath.New("lxd", "project", "features"), path.Root("lxd").AtName("project_features")},
	{fieldpath.New("lxd", "project", "limits"), path.Root("lxd").AtName("project_limits")},
}

// attributePath is the attribute of a spec's field: disks.root.pool is disks["root"].pool. It
// is empty if the field has no attribute.
func attributePath(field fieldpath.Path) path.Path {
	for _, moved := range relocatedFields {
		if below, found := field.CutPrefix(moved.field); found {
			return appendSteps(moved.at, below.Steps())
		}
	}
	if !slices.Contains(resourceAttributes, field.RootName()) && !slices.Contains(actionAttributes, field.RootName()) {
		return path.Empty()
	}
	if set := fieldpath.New("lxd", "trusted_certificates"); field.Parent().Equal(set) {
		field = set // an element of a set has no index
	}
	return appendSteps(path.Empty(), field.Steps())
}

func appendSteps(at path.Path, steps []fieldpath.Step) path.Path {
	for _, step := range steps {
		switch step := step.(type) {
		case fieldpath.Name:
			at = at.AtName(string(step))
		case fieldpath.Key:
			at = at.AtMapKey(string(step))
		case fieldpath.Index:
			at = at.AtListIndex(int(step))
		}
	}
	return at
}
