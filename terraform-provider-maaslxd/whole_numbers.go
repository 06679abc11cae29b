package main

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	framework "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// typedSchema tells the types of a resource's attributes.
type typedSchema interface {
	Type() attr.Type
	TypeAtTerraformPath(ctx context.Context, at *tftypes.AttributePath) (attr.Type, error)
}

// typedSchemas are the framework's schemas of the resources. Terraform's own schemas do not tell
// whole numbers from others.
func typedSchemas(p framework.Provider) map[string]typedSchema {
	ctx, all := context.Background(), map[string]typedSchema{}
	var provider framework.MetadataResponse
	p.Metadata(ctx, framework.MetadataRequest{}, &provider)
	for _, newResource := range p.Resources(ctx) {
		r, metadata, schema := newResource(), resource.MetadataResponse{}, resource.SchemaResponse{}
		r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: provider.TypeName}, &metadata)
		r.Schema(ctx, resource.SchemaRequest{}, &schema)
		all[metadata.TypeName] = schema.Schema
	}
	return all
}

// explainNumbers replaces the framework's errors about numbers that are not whole, or too large for
// 64 bits: it calls them a defect of the provider. The other diagnostics stay. An attribute with such
// a number has no other error: the framework does not validate what it cannot convert.
func explainNumbers(ctx context.Context, schema typedSchema, config *tfprotov6.DynamicValue, found []*tfprotov6.Diagnostic) []*tfprotov6.Diagnostic {
	if schema == nil || config == nil {
		return found
	}
	value, err := config.Unmarshal(schema.Type().TerraformType(ctx))
	if err != nil {
		return found
	}
	_ = tftypes.Walk(value, func(at *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		problem := wholeNumberProblem(v)
		if problem == "" {
			return true, nil
		}
		if of, err := schema.TypeAtTerraformPath(ctx, at); err != nil || !of.Equal(types.Int64Type) {
			return true, nil // such as a ratio
		}
		found = slices.DeleteFunc(found, func(d *tfprotov6.Diagnostic) bool { return isError(d) && isWithin(at, d.Attribute) })
		found = append(found, &tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityError, Summary: "The number cannot be used", Detail: dottedPath(at) + ": " + problem, Attribute: at})
		return true, nil
	}) // the function never fails
	return found
}

// isWithin reports whether a path is that of an attribute, or of a part of it. The framework reports
// the whole attribute disks if the size of one disk is wrong.
func isWithin(at, attribute *tftypes.AttributePath) bool {
	if attribute == nil || len(attribute.Steps()) == 0 || len(attribute.Steps()) > len(at.Steps()) {
		return false
	}
	return slices.EqualFunc(attribute.Steps(), at.Steps()[:len(attribute.Steps())], tftypes.AttributePathStep.Equal)
}

// dottedPath is a path as messages show it, such as disks.root.size_gb.
func dottedPath(at *tftypes.AttributePath) string {
	var words []string
	for _, step := range at.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			words = append(words, string(step))
		case tftypes.ElementKeyString:
			words = append(words, string(step))
		case tftypes.ElementKeyInt:
			words = append(words, strconv.FormatInt(int64(step), 10))
		}
	}
	return strings.Join(words, ".")
}

func isError(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError }

// wholeNumberProblem says why a value is no whole number of 64 bits; empty: it is one, or no number.
func wholeNumberProblem(v tftypes.Value) string {
	if !v.Type().Is(tftypes.Number) || v.IsNull() || !v.IsKnown() {
		return ""
	}
	var n big.Float
	if err := v.As(&n); err != nil {
		return ""
	}
	if !n.IsInt() {
		return fmt.Sprintf("%s is no whole number. Round it: floor(%[1]s), or ceil(%[1]s).", n.Text('g', -1))
	}
	if _, accuracy := n.Int64(); accuracy != big.Exact {
		return n.Text('g', -1) + " is too large."
	}
	return ""
}
