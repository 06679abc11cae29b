package host

import (
	"context"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The resource that "moved" blocks may come from.
const (
	canonicalProvider = "canonical/maas"
	canonicalHost     = "maas_vm_host"
)

// MoveState takes over the VM hosts of Canonical's provider for MAAS. Its state
// names them by their id in MAAS; the Read that follows finds the rest.
func (r *hostResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: moveCanonicalHost}}
}

func moveCanonicalHost(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	if req.SourceTypeName != canonicalHost || !strings.HasSuffix(req.SourceProviderAddress, canonicalProvider) {
		return
	}
	// Only what all its versions have is read of it.
	raw, err := req.SourceRawState.UnmarshalWithOpts(
		tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String}},
		tfprotov6.UnmarshalOpts{ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true}},
	)
	var values map[string]tftypes.Value
	var text string
	if err == nil {
		err = raw.As(&values)
	}
	if err == nil {
		err = values["id"].As(&text)
	}
	id, parseErr := strconv.ParseInt(text, 10, 64)
	if err != nil || parseErr != nil {
		resp.Diagnostics.AddError("Cannot take over a "+canonicalHost,
			"Its state does not name a VM host by a number. Remove it from the state with a removed block, and import it: "+hostImportUsage)
		return
	}
	resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("vm_host_id"), types.Int64Value(id))...)
}
