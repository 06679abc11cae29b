// Package fleet is the data sources: VM hosts and VMs, one or many, whoever made them, and
// what else MAAS has that configurations name: zones, images, subnets, machines.
package fleet

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// fleetSource is what the data sources have in common.
type fleetSource struct {
	client *client.Client
}

// Configure takes what the provider hands over.
func (s *fleetSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.client = client.FromProviderData(req.ProviderData, &resp.Diagnostics)
}

// fleet looks at MAAS. An error is in the diagnostics.
func (s *fleetSource) fleet(ctx context.Context, doing string, diags *diag.Diagnostics) fleet.Fleet {
	b, err := s.client.Use()
	if err != nil {
		diagnostics.Report(diags, doing, err)
		return fleet.Fleet{}
	}
	ctx, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	fleet, err := b.Fleet(ctx)
	if err != nil {
		diagnostics.Report(diags, doing, err)
	}
	if fleet.Unseen != nil {
		diags.AddWarning("VMs may be missing", diagnostics.Explain(fleet.Unseen)+diagnostics.Paragraph("Only its own LXD tells which VMs are on such a host"))
	}
	return fleet
}

// ask lets a data source ask the backend within its time. What fails is in the
// diagnostics.
func (s *fleetSource) ask(ctx context.Context, doing string, diags *diag.Diagnostics, ask func(context.Context, *client.Backend) error) {
	if diags.HasError() {
		return
	}
	b, err := s.client.Use()
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, client.ReadTimeout)
		defer cancel()
		err = ask(limited, b)
	}
	if err != nil {
		diagnostics.Report(diags, doing, err)
	}
}
