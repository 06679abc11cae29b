package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ function.Function = (*cloudConfigFunction)(nil)

// NewCloudConfig makes the function lxd_cloud_config.
func NewCloudConfig() function.Function { return &cloudConfigFunction{} }

// cloudConfigFunction is the function lxd_cloud_config.
type cloudConfigFunction struct{}

// Metadata names the function.
func (f *cloudConfigFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "lxd_cloud_config"
}

// Definition describes the argument and the result.
func (f *cloudConfigFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "User-data that makes an LXD host of a machine",
		MarkdownDescription: "The user-data by which `maaslxd_vm_host` makes an LXD host of a machine at its first boot: one MIME multi-part for " +
			"cloud-init. Use it for previews and tests, and for machines that something else deploys. The same arguments give the same text.",
		Parameters: []function.Parameter{
			function.DynamicParameter{
				Name: "lxd",
				MarkdownDescription: "An object with the attributes of `lxd` of `maaslxd_vm_host`. Attributes that you leave out have the same " +
					"defaults as there. `trusted_certificates` must have at least one certificate: nobody else may use the host.",
			},
		},
		Return: function.StringReturn{},
	}
}

// Run renders the user-data.
func (f *cloudConfigFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var given types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &given); resp.Error != nil {
		return
	}
	text, err := cloudConfig(ctx, given)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, text)
}

func cloudConfig(ctx context.Context, given types.Dynamic) (string, error) {
	v, err := values.ConformValue(ctx, "lxd", given, lxdType)
	if err != nil {
		return "", err
	}
	var diags diag.Diagnostics
	m := hostModel{LXD: v.(types.Object)}
	h := m.firstBoot(ctx, &diags)
	trusted := m.trustedCertificates(ctx, &diags)
	if diags.HasError() {
		return "", errors.New(diags.Errors()[0].Detail())
	}
	if len(trusted) == 0 {
		return "", errors.New("lxd.trusted_certificates is empty, so nobody could use the host. Give the public certificate of the fleet's key pair, in PEM")
	}
	if h.TrustedCertificates, err = fleetkey.TrustedCertificates(time.Now(), trusted[0], trusted[1:]...); err != nil {
		return "", trustedCertificatesError(err)
	}
	text, err := h.Render()
	if fields := cloudinit.FieldErrors(err); len(fields) > 0 {
		says := make([]string, len(fields))
		for n, e := range fields {
			says[n] = fieldpath.New("lxd").Join(e.Field).String() + ": " + e.Message + "; " + e.Hint
		}
		return "", errors.New(strings.Join(says, "; "))
	}
	return string(text), err
}
