package client

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
)

// CheckFilterNames refuses a zone or a resource pool of a filter that MAAS does not have. An empty
// list would be a wrong answer to a typing error. Null values filter nothing.
func (b *Backend) CheckFilterNames(ctx context.Context, filter fieldpath.Path, zone, pool types.String) error {
	return errors.Join(
		engine.CheckName(ctx, b.Names, filter.Child("zone"), "zone", zone.ValueString(), b.Names.Zones),
		engine.CheckName(ctx, b.Names, filter.Child("pool"), "resource pool", pool.ValueString(), b.Names.Pools),
	)
}

// CheckFilterHost refuses the VM host of a filter that is none of these. A null value filters
// nothing.
func CheckFilterHost(filter fieldpath.Path, wanted types.String, hosts []fleet.Host) error {
	name := wanted.ValueString()
	if wanted.IsNull() || slices.ContainsFunc(hosts, func(h fleet.Host) bool { return h.MatchesName(name) }) {
		return nil
	}
	names := make([]string, len(hosts))
	for n, h := range hosts {
		names[n] = h.Name
	}
	return engine.UnknownNameError(filter.Child("vm_host"), "VM host", name, names)
}
