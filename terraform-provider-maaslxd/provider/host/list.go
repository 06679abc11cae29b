package host

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ list.ListResourceWithConfigure = (*hostList)(nil)

// NewList makes the list resource maaslxd_vm_host: the VM hosts of MAAS, for an import.
func NewList() list.ListResource { return &hostList{} }

// hostList is the list resource maaslxd_vm_host. It reads each host as the resource does.
type hostList struct{ hostResource }

// hostListModel says which hosts to list; a null value matches all.
type hostListModel struct {
	Zone types.String `tfsdk:"zone"`
	Pool types.String `tfsdk:"pool"`
	Tags types.List   `tfsdk:"tags"`
}

// ListResourceConfigSchema is the schema of the filter.
func (l *hostList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The LXD VM hosts of MAAS, whoever registered them, for `terraform query`. An import takes one over as it is. A VM host " +
			"that MAAS has never reached has no machine, and is not listed.",
		Attributes: map[string]schema.Attribute{
			"zone": schema.StringAttribute{Optional: true, MarkdownDescription: "Only VM hosts in this availability zone."},
			"pool": schema.StringAttribute{Optional: true, MarkdownDescription: "Only VM hosts in this resource pool."},
			"tags": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only VM hosts with all of these tags."},
		},
	}
}

// List lists the VM hosts.
func (l *hostList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var m hostListModel
	diags := req.Config.Get(ctx, &m)
	b, found := l.listMatching(ctx, m, &diags)
	mark := l.client.MarkForList(ctx, &diags)
	stream.Results = values.ListResults(req, found, diags, func(h engine.VMHost) list.ListResult { return l.listResult(ctx, b, mark, req, h) })
}

// listMatching are the VM hosts that match the filter.
func (l *hostList) listMatching(ctx context.Context, m hostListModel, diags *diag.Diagnostics) (*client.Backend, []engine.VMHost) {
	if diags.HasError() {
		return nil, nil
	}
	b, err := l.client.Backend()
	var all []engine.VMHost
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
		defer cancel()
		all, err = b.Inventory.Hosts(limited)
	}
	if err != nil {
		diagnostics.ReportError(diags, "list the VM hosts", err)
	}
	return b, slices.DeleteFunc(slices.Clone(all), func(h engine.VMHost) bool { return h.MachineID == "" || !m.matchesHost(h) })
}

func (m hostListModel) matchesHost(h engine.VMHost) bool {
	return values.MatchesFilter(m.Zone, m.Pool, m.Tags, h.Zone, h.Pool, h.Tags)
}

// listResult is one VM host: its identity, and on request all that an import would read.
func (l *hostList) listResult(ctx context.Context, b *client.Backend, mark string, req list.ListRequest, host engine.VMHost) list.ListResult {
	result := req.NewListResult(ctx)
	diags := &result.Diagnostics
	result.DisplayName = host.Name
	values.SaveIdentity(ctx, result.Identity, values.Identity{SystemID: host.MachineID, MAAS: mark}, diags)
	if !req.IncludeResource {
		return result
	}
	diags.Append(result.Resource.SetAttribute(ctx, path.Root("id"), types.StringValue(host.MachineID))...)
	diags.Append(result.Resource.SetAttribute(ctx, path.Root("vm_host_id"), values.OptionalID(host.ID))...)
	var state hostModel
	diags.Append(result.Resource.Get(ctx, &state)...)
	if diags.HasError() {
		return result
	}
	limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	n := privateState{Imported: true}
	seen, err := l.observe(limited, b, state, &n)
	if err != nil {
		diagnostics.ReportError(diags, "read VM host "+host.Name, err)
		return result
	}
	n = n.withObserved(seen)
	state.refresh(ctx, seen, diags)
	state.fillImported(ctx, seen, readEndpoint(limited, b, seen, diags), n, diags)
	diags.Append(result.Resource.Set(ctx, &state)...)
	return result
}
