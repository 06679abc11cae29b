package machine

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ list.ListResourceWithConfigure = (*machineList)(nil)

// NewList makes the list resource maaslxd_machine: deployed bare metal, for an import.
func NewList() list.ListResource { return &machineList{} }

// machineList is the list resource maaslxd_machine. It reads each machine as the resource
// does.
type machineList struct{ machineResource }

// machineListModel says which machines to list; a null value matches all.
type machineListModel struct {
	Zone    types.String `tfsdk:"zone"`
	Pool    types.String `tfsdk:"pool"`
	Tags    types.List   `tfsdk:"tags"`
	Managed types.Bool   `tfsdk:"managed"`
}

// ListResourceConfigSchema is the schema of the filter.
func (l *machineList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The bare metal of MAAS that is `Deployed`, whoever deployed it, for `terraform query`. An import takes one over as it " +
			"is. VMs and VM hosts have lists of their own.",
		Attributes: map[string]schema.Attribute{
			"zone": values.ListFilterText("Only machines in this availability zone. If MAAS does not know it, the query fails."),
			"pool": values.ListFilterText("Only machines in this resource pool. If MAAS does not know it, the query fails."),
			"tags": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only machines with all of these tags."},
			"managed": schema.BoolAttribute{Optional: true, MarkdownDescription: "`true`: only machines with a mark of this provider. `false`: only " +
				"machines without one, which nothing manages yet."},
		},
	}
}

// List lists the machines with one call. Only a query for whole resources also reads each
// machine.
func (l *machineList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var m machineListModel
	diags := req.Config.Get(ctx, &m)
	b, found := l.listMatching(ctx, m, &diags)
	mark := l.client.MarkForList(ctx, &diags)
	stream.Results = values.ListResults(req, found, diags, func(machine engine.Machine) list.ListResult { return l.listResult(ctx, b, mark, req, machine) })
}

// listMatching are the machines that match the filter, sorted by hostname.
func (l *machineList) listMatching(ctx context.Context, m machineListModel, diags *diag.Diagnostics) (*client.Backend, []engine.Machine) {
	if diags.HasError() {
		return nil, nil
	}
	b, err := l.client.Backend()
	var found []engine.Machine
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
		defer cancel()
		if err = b.CheckFilterNames(limited, fieldpath.Path{}, m.Zone, m.Pool); err == nil {
			found, err = listDeployedMetal(limited, b)
		}
	}
	if err != nil {
		diagnostics.ReportError(diags, "list the machines", err)
		return nil, nil
	}
	for _, unread := range found {
		if unread.Err != nil {
			diags.AddWarning("Machine "+unread.SystemID+" is left out", unread.Err.Error())
		}
	}
	return b, slices.DeleteFunc(found, func(machine engine.Machine) bool { return machine.Err != nil || !m.matchesMachine(machine) })
}

// listDeployedMetal lists the deployed machines that are neither VMs nor VM hosts. It also
// asks for MAAS's VM hosts, because those that others registered have no tag of ours.
func listDeployedMetal(ctx context.Context, b *client.Backend) ([]engine.Machine, error) {
	hosts, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	ofHosts := map[string]bool{}
	for _, h := range hosts {
		ofHosts[h.MachineID] = true
	}
	machines, err := b.Machines.MachinesWhere(ctx, engine.MachineFilter{Status: engine.StatusDeployed})
	found := slices.DeleteFunc(slices.Clone(machines), func(m engine.Machine) bool {
		return m.IsVirtual() || ofHosts[m.SystemID] || slices.Contains(m.Tags, engine.HostTag)
	})
	slices.SortFunc(found, func(a, b engine.Machine) int {
		return cmp.Or(cmp.Compare(a.Hostname, b.Hostname), cmp.Compare(a.SystemID, b.SystemID))
	})
	return found, err
}

func (m machineListModel) matchesMachine(machine engine.Machine) bool {
	return values.MatchesFilter(m.Zone, m.Pool, m.Tags, machine.Zone, machine.Pool, machine.Tags) &&
		(m.Managed.IsNull() || m.Managed.ValueBool() == (machine.MarkedBy() != ""))
}

// listResult is one machine: its identity, and on request all that an import would read.
func (l *machineList) listResult(ctx context.Context, b *client.Backend, mark string, req list.ListRequest, machine engine.Machine) list.ListResult {
	result := req.NewListResult(ctx)
	diags := &result.Diagnostics
	result.DisplayName = machine.Hostname
	values.SaveIdentity(ctx, result.Identity, values.Identity{SystemID: machine.SystemID, MAAS: mark}, diags)
	if !req.IncludeResource {
		return result
	}
	diags.Append(result.Resource.SetAttribute(ctx, path.Root("id"), types.StringValue(machine.SystemID))...)
	var state machineModel
	diags.Append(result.Resource.Get(ctx, &state)...)
	if diags.HasError() {
		return result
	}
	limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	n := privateState{Imported: true}
	seen, err := l.observe(limited, b, state, &n)
	if err != nil {
		diagnostics.ReportError(diags, "read machine "+machine.Hostname, err)
		return result
	}
	state.refreshRead(ctx, seen, n.withObserved(seen), true, diags)
	diags.Append(result.Resource.Set(ctx, &state)...)
	return result
}
