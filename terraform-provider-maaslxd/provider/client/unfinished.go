package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// What a create says that has ended before its object was finished.
const (
	UnfinishedWarns = "warn"
	UnfinishedFails = "error"
)

// UnfinishedCreate is an object whose create has ended before it was finished.
type UnfinishedCreate struct {
	Object     string // such as "VM web-1"
	KeptObject string // what is kept in the state: "The VM"
	Phase      string // in MAAS's words
	SystemID   string
	Secrets    []string // what MAAS's events may repeat of the configuration
	// ShowsError tells that the error says more than MAAS's events: of an LXD, say.
	ShowsError     bool
	ExtraParagraph string // what is worth saying besides: a paragraph
}

// ReportUnfinished says why a create within wait ended before its end, how far the object
// is, and what the next apply does.
func (c *Client) ReportUnfinished(wait context.Context, diags *diag.Diagnostics, u UnfinishedCreate, err error) {
	why := diagnostics.ExplainError(err)
	if wait.Err() != nil {
		stage := c.describeStoppedPhase(wait, u, err)
		why = diagnostics.ExplainWaitEnd(wait.Err(), "timeouts.create") + stage
		if stage == "" || u.ShowsError {
			why += diagnostics.Paragraph(diagnostics.ErrorText(err))
		} else if beside := errorsBesideStop(err); beside != nil {
			why += diagnostics.Paragraph(diagnostics.ErrorText(beside))
		}
	}
	c.addUnfinished(diags, u.KeptObject+" is kept in the state as "+u.SystemID, fmt.Sprintf("%s is not finished: %s", u.Object, u.Phase), why+u.ExtraParagraph)
}

// errorsBesideStop is what was joined to the error of a wait that was stopped: that a VM could not be
// turned on again. Nil if there is nothing.
func errorsBesideStop(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(joined.Unwrap()), func(one error) bool {
		_, stopped := errors.AsType[*engine.StoppedError](one)
		return stopped
	})...)
}

// addUnfinished adds a warning, or an error where the provider block says so. Terraform then takes the
// object for tainted.
func (c *Client) addUnfinished(diags *diag.Diagnostics, object, summary, why string) {
	if c.onUnfinished != UnfinishedFails {
		diags.AddWarning(summary, fmt.Sprintf("%s\n\n%s, and the next apply goes on from there. "+
			"What depends on it may be made before it is ready; on_unfinished = \"error\" in the provider block prevents that.", why, object))
		return
	}
	diags.AddError(summary, fmt.Sprintf("%s\n\n%s. This is an error, as on_unfinished is \"error\" in the provider block, "+
		"and so Terraform takes it for tainted: the next apply replaces it. To go on with it instead, run terraform untaint with its address first.", why, object))
}
