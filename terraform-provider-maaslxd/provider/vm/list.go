package vm

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ list.ListResourceWithConfigure = (*vmList)(nil)

// NewList makes the list resource maaslxd_vm: the VMs of MAAS, for an import.
func NewList() list.ListResource { return &vmList{} }

// vmList is the list resource maaslxd_vm. It reads each VM as the resource does.
type vmList struct{ vmResource }

// vmListModel says which VMs to list; a null value matches all.
type vmListModel struct {
	VMHost  types.String `tfsdk:"vm_host"`
	Zone    types.String `tfsdk:"zone"`
	Pool    types.String `tfsdk:"pool"`
	Tags    types.List   `tfsdk:"tags"`
	Managed types.Bool   `tfsdk:"managed"`
}

// ListResourceConfigSchema is the schema of the filter.
func (l *vmList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The VMs on the VM hosts of MAAS, whoever made them, for `terraform query`. An import takes one over as it is.",
		Attributes: map[string]schema.Attribute{
			"vm_host": values.ListFilterText("Only VMs on this VM host: its name or id, or the system id of its machine. If MAAS does not know it, the query fails."),
			"zone":    values.ListFilterText("Only VMs in this availability zone. If MAAS does not know it, the query fails."),
			"pool":    values.ListFilterText("Only VMs in this resource pool. If MAAS does not know it, the query fails."),
			"tags":    schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only VMs with all of these tags."},
			"managed": schema.BoolAttribute{Optional: true, MarkdownDescription: "`true`: only VMs with a mark of this provider. `false`: only VMs without one, which nothing manages yet."},
		},
	}
}

// List lists the VMs with one call. Only a query for whole resources also reads each VM.
func (l *vmList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var m vmListModel
	diags := req.Config.Get(ctx, &m)
	b, found := l.listMatching(ctx, m, &diags)
	mark := l.client.MarkForList(ctx, &diags)
	stream.Results = values.ListResults(req, found, diags, func(vm fleet.VM) list.ListResult { return l.listResult(ctx, b, mark, req, vm) })
}

// listMatching are the VMs that match the filter, sorted by name.
func (l *vmList) listMatching(ctx context.Context, m vmListModel, diags *diag.Diagnostics) (*client.Backend, []fleet.VM) {
	if diags.HasError() {
		return nil, nil
	}
	const doing = "list the VMs"
	b, err := l.client.Backend()
	if err != nil {
		diagnostics.ReportError(diags, doing, err)
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	all, err := b.Fleet(limited)
	if err != nil {
		diagnostics.ReportError(diags, doing, err)
		return nil, nil
	}
	if err := errors.Join(client.CheckFilterHost(fieldpath.Path{}, m.VMHost, all.Hosts), b.CheckFilterNames(limited, fieldpath.Path{}, m.Zone, m.Pool)); err != nil {
		diagnostics.ReportError(diags, doing, err)
		return nil, nil
	}
	if all.VMsError != nil {
		diags.AddWarning("VMs may be missing", diagnostics.ExplainError(all.VMsError))
	}
	hosts := map[string]bool{}
	for _, h := range all.Hosts {
		if m.VMHost.IsNull() || h.MatchesName(m.VMHost.ValueString()) {
			hosts[h.HostKey] = true
		}
	}
	return b, slices.DeleteFunc(slices.Clone(all.VMs), func(vm fleet.VM) bool { return !m.matchesVM(vm) || !m.VMHost.IsNull() && !hosts[vm.HostKey] })
}

func (m vmListModel) matchesVM(vm fleet.VM) bool {
	return values.MatchesFilter(m.Zone, m.Pool, m.Tags, vm.Zone, vm.Pool, vm.Tags) &&
		(m.Managed.IsNull() || m.Managed.ValueBool() == (vm.Key != ""))
}

// listResult is one VM: its identity, and on request all that an import would read.
func (l *vmList) listResult(ctx context.Context, b *client.Backend, mark string, req list.ListRequest, vm fleet.VM) list.ListResult {
	result := req.NewListResult(ctx)
	diags := &result.Diagnostics
	result.DisplayName = vm.Hostname
	values.SaveIdentity(ctx, result.Identity, values.Identity{SystemID: vm.SystemID, MAAS: mark}, diags)
	if !req.IncludeResource {
		return result
	}
	diags.Append(result.Resource.SetAttribute(ctx, path.Root("id"), types.StringValue(vm.SystemID))...)
	var state vmModel
	diags.Append(result.Resource.Get(ctx, &state)...)
	if diags.HasError() {
		return result
	}
	limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	n := privateState{Imported: true, Key: vm.Key}
	seen, err := b.VMs.Observe(limited, engine.Ref{Key: cmp.Or(vm.Key, l.client.Owner.VMKey(vm.Hostname)), Name: vm.Hostname, SystemID: vm.SystemID, Guessed: vm.Key == ""})
	if err != nil {
		diagnostics.ReportError(diags, "read VM "+vm.Hostname, err)
		return result
	}
	l.refreshRead(limited, b, &state, &n, seen, diags)
	diags.Append(result.Resource.Set(ctx, &state)...)
	return result
}
