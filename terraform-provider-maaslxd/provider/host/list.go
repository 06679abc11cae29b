package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
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
	Zone    types.String `tfsdk:"zone"`
	Pool    types.String `tfsdk:"pool"`
	Tags    types.List   `tfsdk:"tags"`
	Managed types.Bool   `tfsdk:"managed"`
}

// ListResourceConfigSchema is the schema of the filter.
func (l *hostList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The LXD VM hosts of MAAS, whoever registered them, for `terraform query`. An import takes one over as it is. A VM host " +
			"that MAAS has never reached has no machine, and is not listed.",
		Attributes: map[string]schema.Attribute{
			"zone": values.ListFilterText("Only VM hosts in this availability zone. If MAAS does not know it, the query fails."),
			"pool": values.ListFilterText("Only VM hosts in this resource pool. If MAAS does not know it, the query fails."),
			"tags": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only VM hosts with all of these tags."},
			"managed": schema.BoolAttribute{Optional: true, MarkdownDescription: "`true`: only VM hosts with a mark of this provider. `false`: only VM hosts " +
				"without one, which nothing manages yet."},
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
	var found []engine.VMHost
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
		defer cancel()
		found, err = m.findHosts(limited, b)
	}
	if err != nil {
		diagnostics.ReportError(diags, "list the VM hosts", err)
		return nil, nil
	}
	return b, found
}

// findHosts finds the VM hosts. Only the filter by marks also reads their machines.
func (m hostListModel) findHosts(ctx context.Context, b *client.Backend) ([]engine.VMHost, error) {
	if err := b.CheckFilterNames(ctx, fieldpath.Path{}, m.Zone, m.Pool); err != nil {
		return nil, err
	}
	all, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(h engine.VMHost) bool { return h.MachineID == "" || !m.matchesHost(h) })
	if m.Managed.IsNull() {
		return found, nil
	}
	return filterManaged(ctx, b, found, m.Managed.ValueBool())
}

// filterManaged keeps the VM hosts that carry a mark of this provider, or those that carry none.
// The mark is on the machine. A VM host whose machine MAAS has lost carries none.
func filterManaged(ctx context.Context, b *client.Backend, hosts []engine.VMHost, wanted bool) ([]engine.VMHost, error) {
	managed := make([]bool, len(hosts))
	var reads errgroup.Group // they share calls
	for n, h := range hosts {
		reads.Go(func() error {
			m, err := b.Machines.Machine(ctx, h.MachineID)
			if err != nil && !errors.Is(err, engine.ErrNotFound) {
				return fmt.Errorf("cannot read the machine of VM host %s: %w", h.Name, err)
			}
			managed[n] = m.MarksVMHost(h)
			return nil
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	var found []engine.VMHost
	for n, h := range hosts {
		if managed[n] == wanted {
			found = append(found, h)
		}
	}
	return found, nil
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
