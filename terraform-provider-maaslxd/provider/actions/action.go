// Package actions holds the provider's actions. A user or a lifecycle invokes them once, and
// no state records them.
package actions

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// configuredAction is the part that all actions share.
type configuredAction struct {
	client *client.Client
}

// Configure takes the client of the provider block.
func (a *configuredAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.client = client.FromProviderData(req.ProviderData, &resp.Diagnostics)
}

// invoke runs an action with a time limit. An error becomes a diagnostic.
func (a *configuredAction) invoke(ctx context.Context, doing string, limits timeouts.Value, usual time.Duration, diags *diag.Diagnostics, act func(context.Context, *client.Backend) error) {
	limited, cancel := values.WithTimeout(ctx, limits.Invoke, usual, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	b, err := a.client.Backend()
	if err == nil {
		err = act(limited, b)
	}
	switch {
	case err == nil:
	case limited.Err() != nil:
		diags.AddError("Cannot "+doing, diagnostics.ExplainWaitEnd(limited.Err(), "timeouts.invoke")+
			" MAAS continues what it has begun, but the action's later steps do not follow. Look at the machine in MAAS."+
			diagnostics.Paragraph(diagnostics.ErrorBesideEnd(err)))
	default:
		diagnostics.ReportError(diags, doing, err)
	}
}

// withMachine looks up a machine by name, and lets an action work on it.
func withMachine(name string, act func(context.Context, *client.Backend, engine.Machine) error) func(context.Context, *client.Backend) error {
	return func(ctx context.Context, b *client.Backend) error {
		m, err := b.MachineNamed(ctx, name)
		if err != nil {
			return fmt.Errorf("machine: %w", err)
		}
		return act(ctx, b, m)
	}
}

// machineAttribute is the attribute that names a machine.
func machineAttribute(which string) schema.Attribute {
	return schema.StringAttribute{
		Required:            true,
		MarkdownDescription: which + ": its system id, hostname or FQDN in MAAS, such as `maaslxd_vm.web.id`.",
		Validators:          []validator.String{values.NotEmpty()},
	}
}

// timeoutsAttribute is the time limit of an action.
func timeoutsAttribute(ctx context.Context, usual string) schema.Attribute {
	return timeouts.AttributesWithOpts(ctx, timeouts.Opts{
		InvokeDescription: "How long the action may take, as a duration such as `15m`. Default `" + usual + "`.",
	})
}

// newProgressReporter shows the user the progress of an action on a machine. The first step is
// left out, because the action has already reported it.
func newProgressReporter(m engine.Machine, resp *action.InvokeResponse) func(engine.Progress) {
	begun := false
	return func(p engine.Progress) {
		if begun {
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("%s (%s): %s", m.Hostname, m.SystemID, p)})
		}
		begun = true
	}
}
