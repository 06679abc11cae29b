package providertest

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// DescribeDiagnostics writes diagnostics as text for tests.
func DescribeDiagnostics(diags diag.Diagnostics) []string {
	var lines []string
	for _, d := range diags {
		at := ""
		if p, ok := d.(diag.DiagnosticWithPath); ok {
			at = p.Path().String() + ": "
		}
		lines = append(lines, d.Severity().String()+" "+at+d.Summary()+": "+d.Detail())
	}
	return lines
}

// AttributePath is the path of a diagnostic with dots between its steps.
func AttributePath(d *tfprotov6.Diagnostic) string {
	if d.Attribute == nil {
		return ""
	}
	var steps []string
	for _, step := range d.Attribute.Steps() {
		steps = append(steps, stepText(step))
	}
	return strings.Join(steps, ".")
}

// stepText is a step of an attribute's path as text.
func stepText(step tftypes.AttributePathStep) string {
	switch s := step.(type) {
	case tftypes.AttributeName:
		return string(s)
	case tftypes.ElementKeyString:
		return string(s)
	default:
		return fmt.Sprint(s)
	}
}
