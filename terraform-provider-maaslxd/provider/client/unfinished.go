package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// These values of on_unfinished choose between a warning and an error for an object that a
// create did not finish.
const (
	UnfinishedWarns = "warn"
	UnfinishedFails = "error"
)

// UnfinishedCreate is an object whose create ended before the object was finished.
type UnfinishedCreate struct {
	Object     string // such as "VM web-1"
	KeptObject string // the object in the state: "The VM"
	Phase      string // in MAAS's words
	SystemID   string
	Secrets    []string // values of the configuration that MAAS's events must not repeat
	// ShowsError: the error says more than MAAS's events, for example about an LXD.
	ShowsError     bool
	ExtraParagraph string // another paragraph for the user
}

// ReportUnfinished says why a create ended too early, how far the object is, and what the next
// apply does.
func (c *Client) ReportUnfinished(wait context.Context, diags *diag.Diagnostics, u UnfinishedCreate, err error) {
	why := diagnostics.ExplainError(err)
	if wait.Err() != nil {
		stage := c.describeStoppedPhase(wait, u, err)
		why = diagnostics.ExplainWaitEnd(wait.Err(), "timeouts.create") + stage + diagnostics.Paragraph(u.textBesideStage(stage, err))
	}
	c.addUnfinished(diags, u.KeptObject+" is kept in the state as "+u.SystemID, fmt.Sprintf("%s is not finished: %s", u.Object, u.Phase), why+u.ExtraParagraph)
}

// textBesideStage is what an error says beside the stage, which describeStoppedPhase has told.
func (u UnfinishedCreate) textBesideStage(stage string, err error) string {
	stopped, beside := diagnostics.SplitStopped(err)
	saysMore := u.ShowsError && stopped != nil && stopped.Last == nil && !strings.Contains(stage, stopped.Message)
	switch {
	case stage == "", saysMore:
		return diagnostics.ErrorBesideEnd(err)
	case beside != nil:
		return engine.ErrorText(beside)
	default:
		return ""
	}
}

// addUnfinished adds a warning, or an error if the provider block says so. After an error
// Terraform takes the object for tainted.
func (c *Client) addUnfinished(diags *diag.Diagnostics, object, summary, why string) {
	if c.onUnfinished != UnfinishedFails {
		diags.AddWarning(summary, fmt.Sprintf("%s\n\n%s, and the next apply continues from there. Objects that depend on it may be made before it is "+
			"ready. A postcondition on its status prevents that. on_unfinished = \"error\" in the provider block prevents it, too, but taints the object.", why, object))
		return
	}
	diags.AddError(summary, fmt.Sprintf("%s\n\n%s. This is an error, because on_unfinished is \"error\" in the provider block, and so Terraform takes "+
		"it for tainted: the next apply replaces it. To continue with it instead, run terraform untaint with its address first.", why, object))
}
