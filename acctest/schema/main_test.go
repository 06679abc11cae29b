package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// server answers the two calls that the program makes, and no other.
type server struct {
	tfprotov6.ProviderServer
	schemas    tfprotov6.GetProviderSchemaResponse
	identities tfprotov6.GetResourceIdentitySchemasResponse
}

func (s server) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &s.schemas, nil
}

func (s server) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &s.identities, nil
}

// emptySchema is a schema without attributes.
var emptySchema = &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}}

// smallServer has one example of each form of a schema.
var smallServer = server{
	schemas: tfprotov6.GetProviderSchemaResponse{
		Provider: emptySchema,
		ResourceSchemas: map[string]*tfprotov6.Schema{"x": {Version: 2, Block: &tfprotov6.SchemaBlock{
			Description:     "An *x*.",
			DescriptionKind: tfprotov6.StringKindMarkdown,
			Attributes: []*tfprotov6.SchemaAttribute{
				{Name: "tags", Type: tftypes.Set{ElementType: tftypes.String}, Optional: true},
				{Name: "secret", Type: tftypes.String, Required: true, Sensitive: true, WriteOnly: true},
				{Name: "disks", Computed: true, NestedType: &tfprotov6.SchemaObject{
					Nesting:    tfprotov6.SchemaObjectNestingModeMap,
					Attributes: []*tfprotov6.SchemaAttribute{{Name: "size_gb", Type: tftypes.Number, Required: true}},
				}},
			},
			BlockTypes: []*tfprotov6.SchemaNestedBlock{
				{TypeName: "part", Nesting: tfprotov6.SchemaNestedBlockNestingModeList, MaxItems: 1, Block: &tfprotov6.SchemaBlock{}},
			},
		}}},
		ActionSchemas: map[string]*tfprotov6.ActionSchema{"a": {Schema: &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{
			Attributes: []*tfprotov6.SchemaAttribute{{Name: "power", Type: tftypes.String, Required: true}},
		}}}},
		Functions: map[string]*tfprotov6.Function{"f": {
			Summary: "A function", Return: &tfprotov6.FunctionReturn{Type: tftypes.String},
			Parameters:        []*tfprotov6.FunctionParameter{{Name: "of", Description: "An *x*.", Type: tftypes.DynamicPseudoType, AllowNullValue: true}},
			VariadicParameter: &tfprotov6.FunctionParameter{Name: "more", Type: tftypes.Number},
		}},
	},
	identities: tfprotov6.GetResourceIdentitySchemasResponse{
		IdentitySchemas: map[string]*tfprotov6.ResourceIdentitySchema{"x": {
			IdentityAttributes: []*tfprotov6.ResourceIdentitySchemaAttribute{{Name: "id", Type: tftypes.String, RequiredForImport: true}},
		}},
	},
}

// TestOutputLikeTofu compares the output with that of "tofu providers schema -json" for
// the same schema.
func TestOutputLikeTofu(t *testing.T) {
	t.Parallel()
	const want = `{"format_version":"1.0","provider_schemas":{"maaslxd":{
		"provider":{"version":0,"block":{"description_kind":"plain"}},
		"resource_schemas":{"x":{"version":2,"block":{
			"attributes":{
				"disks":{"nested_type":{"nesting_mode":"map","attributes":{
					"size_gb":{"type":"number","description_kind":"plain","required":true}}},
					"description_kind":"plain","computed":true},
				"secret":{"type":"string","description_kind":"plain","required":true,"sensitive":true,"write_only":true},
				"tags":{"type":["set","string"],"description_kind":"plain","optional":true}},
			"block_types":{"part":{"nesting_mode":"list","block":{"description_kind":"plain"},"max_items":1}},
			"description":"An *x*.","description_kind":"markdown"}}},
		"action_schemas":{"a":{"block":{"attributes":{"power":{"type":"string","description_kind":"plain","required":true}},"description_kind":"plain"}}},
		"functions":{"f":{"summary":"A function","return_type":"string",
			"parameters":[{"name":"of","description":"An *x*.","is_nullable":true,"type":"dynamic"}],
			"variadic_parameter":{"name":"more","type":"number"}}},
		"resource_identity_schemas":{"x":{"version":0,"attributes":{"id":{"type":"string","required_for_import":true}}}}}}}`
	var out bytes.Buffer
	if err := run(t.Context(), &out, smallServer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, want), decode(t, out.String())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		schemas tfprotov6.GetProviderSchemaResponse
		err     string
	}{
		"InvalidSchema": {
			reason: "A provider that is wrong in itself has no documentation.",
			schemas: tfprotov6.GetProviderSchemaResponse{Diagnostics: []*tfprotov6.Diagnostic{
				{Severity: tfprotov6.DiagnosticSeverityError, Summary: "Bad name"},
			}},
			err: "Bad name",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := run(t.Context(), &out, server{schemas: tc.schemas})
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s\nerror is %v, want %q in it", tc.reason, err, tc.err)
			}
			if out.Len() > 0 {
				t.Errorf("%s\nprinted %q all the same", tc.reason, out.String())
			}
		})
	}
}

// TestOurProvider checks that the documented schema is that of the real
// provider.
func TestOurProvider(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, providerserver.NewProtocol6(provider.New("test")())()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"maaslxd_vm"`, `"user_data_wo"`, `"required_for_import"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the schema does not have %s", want)
		}
	}
}

// decode parses JSON, so that order and space do not matter.
func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return v
}
