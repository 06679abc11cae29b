// Package datasources holds the data sources. They read VM hosts and VMs, whoever made them,
// and other objects of MAAS: zones, images, subnets, machines.
package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// filterField is the attribute of the filter of a data source.
var filterField = fieldpath.New("filter")

// backendSource is the part that all data sources share.
type backendSource struct {
	client *client.Client
}

// Configure takes the client of the provider block.
func (s *backendSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.client = client.FromProviderData(req.ProviderData, &resp.Diagnostics)
}

// readFleet reads the fleet from MAAS. An error becomes a diagnostic.
func (s *backendSource) readFleet(ctx context.Context, doing string, diags *diag.Diagnostics) fleet.Fleet {
	b, err := s.client.Backend()
	if err != nil {
		diagnostics.ReportError(diags, doing, err)
		return fleet.Fleet{}
	}
	ctx, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	fleet, err := b.Fleet(ctx)
	if err != nil {
		diagnostics.ReportError(diags, doing, err)
	}
	if fleet.VMsError != nil {
		diags.AddWarning("VMs may be missing", diagnostics.ExplainError(fleet.VMsError)+diagnostics.Paragraph("Only the LXD of such a host knows the VMs on it"))
	}
	return fleet
}

// withBackend runs a query of a data source with a time limit. An error becomes a diagnostic.
func (s *backendSource) withBackend(ctx context.Context, doing string, diags *diag.Diagnostics, ask func(context.Context, *client.Backend) error) {
	if diags.HasError() {
		return
	}
	b, err := s.client.Backend()
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
		defer cancel()
		err = ask(limited, b)
	}
	if err != nil {
		diagnostics.ReportError(diags, doing, err)
	}
}
