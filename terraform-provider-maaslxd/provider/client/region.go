package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// acceptMAASVariable is the environment variable with the mark of a MAAS that a state may move
// to.
const acceptMAASVariable = "MAASLXD_ACCEPT_MAAS"

// regionMarkTimeout limits the two calls for the mark, also after the caller's ctx has ended.
// The state then has the new object, and should also have its MAAS.
const regionMarkTimeout = 30 * time.Second

// noMarkValue is the value of acceptMAASVariable for a MAAS without a mark.
const noMarkValue = "none"

// markText says in words which mark a MAAS has.
func markText(mark string) string {
	if mark == "" {
		return "no mark"
	}
	return "the mark " + mark
}

// RegionMark returns the mark of this MAAS; empty: it has none yet.
func (b *Backend) RegionMark(ctx context.Context) (string, error) { return b.marks.RegionMark(ctx) }

// RequireSameMAAS returns the mark of this MAAS, and refuses if the state knows another mark.
// The objects of the state are in that other MAAS, and would seem to be gone in this one. A
// state from before there were marks knows none.
func (b *Backend) RequireSameMAAS(ctx context.Context, known string) (string, error) {
	if known == "" {
		return "", nil
	}
	mark, err := b.marks.RegionMark(ctx)
	if err != nil || mark == known {
		return mark, err
	}
	shown := cmp.Or(mark, noMarkValue)
	if os.Getenv(acceptMAASVariable) == shown {
		return mark, nil
	}
	return "", &engine.Refusal{
		Message: fmt.Sprintf("this is another MAAS than the state knows: the MAAS at %s has %s, and the state knows the mark %s", b.apiURL, markText(mark), known),
		Hint: fmt.Sprintf("Point api_url (MAAS_API_URL) at the former MAAS. If this is the same MAAS, restored or without its tag maaslxd-region, set "+
			"%s=%s for one apply: the state then takes on the mark of this MAAS.", acceptMAASVariable, shown),
		Err: engine.ErrConflict,
	}
}

// MAASForState is the mark that a state records after a read. It is the former mark, the
// accepted one, or for an import the mark of this MAAS. An object with our own mark proves the
// MAAS without a call, unless a new mark is to be accepted.
func (b *Backend) MAASForState(ctx context.Context, known string, imported, ours bool) (string, error) {
	switch {
	case imported:
		return b.marks.RegionMark(ctx)
	case ours && os.Getenv(acceptMAASVariable) == "":
		return known, nil
	default:
		return b.RequireSameMAAS(ctx, known)
	}
}

// ResolveImport returns the identity of an import, and the mark of this MAAS; empty: it has
// none yet. It refuses an identity of another MAAS, because the same system id is another
// machine here.
func (c *Client) ResolveImport(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (id, mark string) {
	named := values.ImportedIdentity(ctx, req, diags)
	id = strings.TrimSpace(named.SystemID)
	b, err := c.Backend()
	if err == nil && !diags.HasError() {
		ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
		defer cancel()
		mark, err = b.marks.RegionMark(ctx)
	}
	if err == nil && named.MAAS != "" && named.MAAS != mark {
		err = &engine.Refusal{
			Message: fmt.Sprintf("the identity is of another MAAS: its maas is %s, and the MAAS at %s has %s", named.MAAS, b.apiURL, markText(mark)),
			Hint:    "Point api_url (MAAS_API_URL) at that MAAS, or leave maas out of the identity.",
			Err:     engine.ErrConflict,
		}
	}
	if err != nil {
		diagnostics.ReportError(diags, fmt.Sprintf("import %q", id), err)
	}
	return id, mark
}

// MarkForList is the mark of this MAAS for the identities in a list.
func (c *Client) MarkForList(ctx context.Context, diags *diag.Diagnostics) string {
	b, err := c.Backend()
	if err != nil || diags.HasError() {
		return "" // the diagnostics have the reason
	}
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	mark, err := b.marks.RegionMark(ctx)
	if err != nil {
		diagnostics.ReportError(diags, "read the mark of this MAAS", err)
	}
	return mark
}

// CheckPlannedMAAS makes it an error of the plan if it changes or destroys an object of
// another MAAS than this one.
func (c *Client) CheckPlannedMAAS(ctx context.Context, known string, doing string, diags *diag.Diagnostics) {
	if known == "" || !c.CanCheckPlan() {
		return
	}
	b, err := c.Backend()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, PlanCheckTimeout)
	defer cancel()
	_, err = b.RequireSameMAAS(ctx, known)
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrConflict):
		diagnostics.ReportError(diags, doing, err)
	default:
		c.Run.WarnPlanUnchecked(err, diags)
	}
}

// EnsureMAASMark returns the mark of this MAAS for an object that was made or changed, and
// creates it if there is none. A user who may create no tags continues without a mark.
func (b *Backend) EnsureMAASMark(ctx context.Context, diags *diag.Diagnostics) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), regionMarkTimeout)
	defer cancel()
	mark, err := b.marks.MakeRegionMark(ctx)
	if err != nil && !errors.Is(err, engine.ErrForbidden) {
		diags.AddWarning("The state does not know which MAAS this is", diagnostics.Sentence(err.Error())+
			"\n\nThe next change records it. Until then the provider cannot tell this MAAS from another one at its address.")
	}
	return mark
}
