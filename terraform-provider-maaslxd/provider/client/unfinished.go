package client

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// What a create says that has ended before its object was finished.
const (
	UnfinishedWarns = "warn"
	UnfinishedFails = "error"
)

// ReportUnfinished says of an object that is kept in the state why it is not finished,
// and what the next apply does. It is an error where the provider block says so. Terraform
// then takes the object for tainted.
func (c *Client) ReportUnfinished(diags *diag.Diagnostics, object, summary, why string) {
	if c.unfinished != UnfinishedFails {
		diags.AddWarning(summary, fmt.Sprintf("%s\n\n%s, and the next apply goes on from there. "+
			"What depends on it may be made before it is ready; on_unfinished = \"error\" in the provider block prevents that.", why, object))
		return
	}
	diags.AddError(summary, fmt.Sprintf("%s\n\n%s. This is an error, as on_unfinished is \"error\" in the provider block, "+
		"and so Terraform takes it for tainted: the next apply replaces it. To go on with it instead, run terraform untaint with its address first.", why, object))
}
