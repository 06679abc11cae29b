// Package functions holds the provider's functions. They call nothing: the result depends only
// on the arguments.
package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/maaslxd/maaslxd/engine/providerid"
)

var _ function.Function = (*providerIDFunction)(nil)

// NewProviderID makes the function provider_id.
func NewProviderID() function.Function { return &providerIDFunction{} }

// providerIDFunction is the function provider_id.
type providerIDFunction struct{}

// The kinds of machines, and the schemes of their providerIDs.
const (
	kindVM      = "vm"
	kindMachine = "machine"
)

var formsByKind = map[string]providerid.Form{kindVM: providerid.LXD, kindMachine: providerid.BareMetal}

// Metadata names the function.
func (f *providerIDFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "provider_id"
}

// Definition describes the arguments and the result.
func (f *providerIDFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "providerID of a Kubernetes Node on a machine of MAAS",
		MarkdownDescription: "The providerID of the Kubernetes Node on a machine of MAAS, as the Cluster API provider of this project writes it. It is " +
			"`maas-lxd://ZONE/SYSTEM_ID` for a VM, and `maas://ZONE/SYSTEM_ID` for bare metal.",
		Parameters: []function.Parameter{
			function.StringParameter{
				Name: "kind", MarkdownDescription: "`vm` or `machine`.",
				Validators: []function.StringParameterValidator{stringvalidator.OneOf(kindVM, kindMachine)},
			},
			function.StringParameter{Name: "zone", MarkdownDescription: "Availability zone of the machine, such as `maaslxd_vm.x.zone`."},
			function.StringParameter{Name: "system_id", MarkdownDescription: "MAAS's id of the machine, such as `maaslxd_vm.x.id`."},
		},
		Return: function.StringReturn{},
	}
}

// Run writes the providerID. It returns an error for an empty zone or an unknown kind.
func (f *providerIDFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var kind, zone, systemID string
	if resp.Error = req.Arguments.Get(ctx, &kind, &zone, &systemID); resp.Error != nil {
		return
	}
	id, err := providerid.New(formsByKind[kind], zone, systemID)
	switch {
	case err == nil:
		resp.Error = resp.Result.Set(ctx, id.String())
	case zone == "":
		resp.Error = function.NewArgumentFuncError(1, "the zone is empty. Give the availability zone of the machine")
	default:
		resp.Error = function.NewArgumentFuncError(2, err.Error()+". Give the id of the machine, such as 4y3h7n")
	}
}
