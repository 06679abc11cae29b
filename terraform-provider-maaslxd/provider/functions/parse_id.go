package functions

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/providerid"
)

var _ function.Function = (*parseIDFunction)(nil)

// NewParseID makes the function parse_id.
func NewParseID() function.Function { return &parseIDFunction{} }

// parseIDFunction is the function parse_id.
type parseIDFunction struct{}

// parsedID is the result: the parts of an id, nil where it does not have the part.
type parsedID struct {
	Kind     *string `tfsdk:"kind"`
	Zone     *string `tfsdk:"zone"`
	SystemID *string `tfsdk:"system_id"`
	Hostname *string `tfsdk:"hostname"`
	Domain   *string `tfsdk:"domain"`
}

// Metadata names the function.
func (f *parseIDFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "parse_id"
}

// Definition describes the argument and the result.
func (f *parseIDFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Parts of a text that names a machine of MAAS",
		MarkdownDescription: "Takes apart a text that names a machine of MAAS: the providerID of a Kubernetes Node, an FQDN, or a single word. It does " +
			"not ask MAAS. Parts that the text does not have are null.\n\n- `maas-lxd://az1/4y3h7n` has a `kind` (`vm`, or `machine` for " +
			"`maas://…`), a `zone` and a `system_id`. In the older form `maas:///…` the kind is null: that form was for both.\n- " +
			"`web-1.example.com` has a `hostname` and a `domain`.\n- `4y3h7n` may be a system id or a hostname, so it is both.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "id", MarkdownDescription: "Text that names the machine."},
		},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"kind": types.StringType, "zone": types.StringType, "system_id": types.StringType, "hostname": types.StringType, "domain": types.StringType,
		}},
	}
}

// Run takes the text apart. It returns an error for a text of no known form.
func (f *parseIDFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	parsed, err := parseMachineID(strings.TrimSpace(text))
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, parsed)
}

// hostnamePattern matches the names that MAAS accepts: letters, digits and hyphens, with dots
// between them.
var hostnamePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)

// maxFQDNLength is the length of the longest FQDN in DNS.
const maxFQDNLength = 253

func parseMachineID(text string) (parsedID, error) {
	if strings.Contains(text, "://") {
		id, err := providerid.Parse(text)
		if err != nil {
			return parsedID{}, err
		}
		return parsedID{Kind: kindOf(id.Form), Zone: textOrNil(id.FailureDomain), SystemID: &id.SystemID}, nil
	}
	if len(text) > maxFQDNLength || !hostnamePattern.MatchString(text) {
		return parsedID{}, fmt.Errorf("%.80q names no machine of MAAS. Give a system id (4y3h7n), a hostname (web-1), an FQDN (web-1.example.com) or a providerID (maas-lxd://az1/4y3h7n)", text)
	}
	name, domain, qualified := strings.Cut(text, ".")
	if qualified {
		return parsedID{Hostname: &name, Domain: &domain}, nil
	}
	return parsedID{SystemID: &name, Hostname: &name}, nil
}

// kindOf is the kind of machine that the form of a providerID is for; nil: both kinds.
func kindOf(form providerid.Form) *string {
	for kind, written := range formsByKind {
		if form == written {
			return &kind
		}
	}
	return nil
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
