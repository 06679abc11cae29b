package main

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The types below are the CLI's JSON, as far as documentation tools read it.

type document struct {
	FormatVersion string                  `json:"format_version"`
	Providers     map[string]providerJSON `json:"provider_schemas"`
}

type providerJSON struct {
	Provider    schemaJSON              `json:"provider"`
	Resources   map[string]schemaJSON   `json:"resource_schemas,omitempty"`
	DataSources map[string]schemaJSON   `json:"data_source_schemas,omitempty"`
	Ephemerals  map[string]schemaJSON   `json:"ephemeral_resource_schemas,omitempty"`
	Lists       map[string]schemaJSON   `json:"list_resource_schemas,omitempty"`
	Actions     map[string]actionJSON   `json:"action_schemas,omitempty"`
	Functions   map[string]functionJSON `json:"functions,omitempty"`
	Identities  map[string]identityJSON `json:"resource_identity_schemas,omitempty"`
}

// actionJSON has no version, because no state contains an action.
type actionJSON struct {
	Block blockJSON `json:"block"`
}

type functionJSON struct {
	Summary     string          `json:"summary,omitempty"`
	Description string          `json:"description,omitempty"`
	Deprecation string          `json:"deprecation_message,omitempty"`
	Return      tftypes.Type    `json:"return_type"`
	Parameters  []parameterJSON `json:"parameters,omitempty"`
	Variadic    *parameterJSON  `json:"variadic_parameter,omitempty"`
}

type parameterJSON struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Nullable    bool         `json:"is_nullable,omitempty"`
	Type        tftypes.Type `json:"type"`
}

type schemaJSON struct {
	Version int64     `json:"version"`
	Block   blockJSON `json:"block"`
}

type blockJSON struct {
	Attributes      map[string]attributeJSON `json:"attributes,omitempty"`
	Blocks          map[string]nestedJSON    `json:"block_types,omitempty"`
	Description     string                   `json:"description,omitempty"`
	DescriptionKind string                   `json:"description_kind,omitempty"`
	Deprecated      bool                     `json:"deprecated,omitempty"`
}

// nestedJSON is a block, or an attribute's nested type. The former has a block,
// the latter attributes.
type nestedJSON struct {
	Mode       string                   `json:"nesting_mode"`
	Attributes map[string]attributeJSON `json:"attributes,omitempty"`
	Block      *blockJSON               `json:"block,omitempty"`
	MinItems   int64                    `json:"min_items,omitempty"`
	MaxItems   int64                    `json:"max_items,omitempty"`
}

type attributeJSON struct {
	Type            tftypes.Type `json:"type,omitempty"`
	Nested          *nestedJSON  `json:"nested_type,omitempty"`
	Description     string       `json:"description,omitempty"`
	DescriptionKind string       `json:"description_kind,omitempty"`
	Deprecated      bool         `json:"deprecated,omitempty"`
	Required        bool         `json:"required,omitempty"`
	Optional        bool         `json:"optional,omitempty"`
	Computed        bool         `json:"computed,omitempty"`
	Sensitive       bool         `json:"sensitive,omitempty"`
	WriteOnly       bool         `json:"write_only,omitempty"`
}

type identityJSON struct {
	Version    int64                            `json:"version"`
	Attributes map[string]identityAttributeJSON `json:"attributes"`
}

type identityAttributeJSON struct {
	Type        tftypes.Type `json:"type"`
	Description string       `json:"description,omitempty"`
	Required    bool         `json:"required_for_import,omitempty"`
	Optional    bool         `json:"optional_for_import,omitempty"`
}

func schemasOf(in map[string]*tfprotov6.Schema) map[string]schemaJSON {
	out := map[string]schemaJSON{}
	for name, s := range in {
		out[name] = schemaOf(s)
	}
	return out
}

func functionOf(f *tfprotov6.Function) functionJSON {
	out := functionJSON{Summary: f.Summary, Description: f.Description, Deprecation: f.DeprecationMessage, Return: f.Return.Type}
	for _, p := range f.Parameters {
		out.Parameters = append(out.Parameters, parameterOf(p))
	}
	if f.VariadicParameter != nil {
		out.Variadic = new(parameterOf(f.VariadicParameter))
	}
	return out
}

func parameterOf(p *tfprotov6.FunctionParameter) parameterJSON {
	return parameterJSON{Name: p.Name, Description: p.Description, Nullable: p.AllowNullValue, Type: p.Type}
}

func schemaOf(s *tfprotov6.Schema) schemaJSON {
	return schemaJSON{Version: s.Version, Block: blockOf(s.Block)}
}

func blockOf(b *tfprotov6.SchemaBlock) blockJSON {
	out := blockJSON{
		Attributes:      attributesOf(b.Attributes),
		Blocks:          map[string]nestedJSON{},
		Description:     b.Description,
		DescriptionKind: kindOf(b.DescriptionKind),
		Deprecated:      b.Deprecated,
	}
	for _, nested := range b.BlockTypes {
		block := blockOf(nested.Block)
		out.Blocks[nested.TypeName] = nestedJSON{
			Mode: strings.ToLower(nested.Nesting.String()), Block: &block,
			MinItems: nested.MinItems, MaxItems: nested.MaxItems,
		}
	}
	return out
}

func attributesOf(in []*tfprotov6.SchemaAttribute) map[string]attributeJSON {
	out := map[string]attributeJSON{}
	for _, a := range in {
		j := attributeJSON{
			Type: a.Type, Description: a.Description, DescriptionKind: kindOf(a.DescriptionKind), Deprecated: a.Deprecated,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
		}
		if a.NestedType != nil {
			j.Nested = &nestedJSON{
				Mode:       strings.ToLower(a.NestedType.Nesting.String()),
				Attributes: attributesOf(a.NestedType.Attributes),
			}
		}
		out[a.Name] = j
	}
	return out
}

func identityOf(s *tfprotov6.ResourceIdentitySchema) identityJSON {
	out := identityJSON{Version: s.Version, Attributes: map[string]identityAttributeJSON{}}
	for _, a := range s.IdentityAttributes {
		out.Attributes[a.Name] = identityAttributeJSON{
			Type: a.Type, Description: a.Description, Required: a.RequiredForImport, Optional: a.OptionalForImport,
		}
	}
	return out
}

// kindOf is the CLI's name for the format of a description.
func kindOf(k tfprotov6.StringKind) string {
	if k == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}
