// Package datasources is the data sources: VM hosts and VMs, one or many, whoever made them, and
// what else MAAS has that configurations name: zones, images, subnets, machines.
package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// backendSource is what the data sources have in common.
type backendSource struct {
	client *client.Client
}

// Configure takes what the provider hands over.
func (s *backendSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.client = client.FromProviderData(req.ProviderData, &resp.Diagnostics)
}

// readFleet looks at MAAS. An error is in the diagnostics.
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
		diags.AddWarning("VMs may be missing", diagnostics.ExplainError(fleet.VMsError)+diagnostics.Paragraph("Only its own LXD tells which VMs are on such a host"))
	}
	return fleet
}

// withBackend lets a data source ask the backend within its time. What fails is in the
// diagnostics.
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
