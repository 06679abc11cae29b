// Package diagnostics turns errors of the engine into Terraform's diagnostics at their
// attributes. It also tells what an error means for the state.
package diagnostics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
)

// ReportError turns an error of the engine into diagnostics: what failed, why, at which
// attribute, and the way out. doing completes "Cannot …".
func ReportError(diags *diag.Diagnostics, doing string, err error) {
	ReportErrorAt(diags, path.Empty(), doing, err)
}

// ReportErrorAt is ReportError with an attribute for errors that name no field: those of an
// LXD, or of missing room.
func ReportErrorAt(diags *diag.Diagnostics, at path.Path, doing string, err error) {
	for _, one := range ErrorsAt(at, err) {
		AddErrorAt(diags, one.At, "Cannot "+doing, ExplainError(one.Err))
	}
}

// ReportRead says why a read ended without a state. If its time was up, it names the
// attribute that allows more. doing completes "Cannot …".
func ReportRead(look context.Context, diags *diag.Diagnostics, doing string, err error) {
	if !errors.Is(look.Err(), context.DeadlineExceeded) {
		ReportError(diags, doing, err)
		return
	}
	diags.AddError("Cannot "+doing, ExplainWaitEnd(look.Err(), "timeouts.read")+Paragraph(Sentence(engine.ErrorText(err))+
		" Check that MAAS answers at api_url (MAAS_API_URL), and that the LXD server does, too. A refresh takes timeouts.read from the state: to give it "+
		"more time, set timeouts.read and run `terraform apply -refresh=false`."))
}

// ReportReadOrRemove removes an object that is gone, as RemoveFromState does. Of another error it says
// why the object was not read, as ReportRead does.
func ReportReadOrRemove(ctx, look context.Context, resp *resource.ReadResponse, privateKey, doing string, err error) {
	if IsObjectGone(err) {
		RemoveFromState(ctx, resp, privateKey)
		return
	}
	ReportRead(look, &resp.Diagnostics, doing, err)
}

// RemoveFromState removes an object that is gone from the state, with its notes. Terraform hands the
// notes to the plan that follows. With them, the plan of a new object looks like that of one which
// is replaced.
func RemoveFromState(ctx context.Context, resp *resource.ReadResponse, privateKey string) {
	resp.State.RemoveResource(ctx)
	if resp.Private != nil {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, privateKey, nil)...)
	}
}

// WarnMarksLost warns that somebody has deleted the owner data of an object's machine, and says
// what more follows from that.
func WarnMarksLost(diags *diag.Diagnostics, object string, m engine.Machine, more string) {
	diags.AddWarning(object+" has lost its marks", strings.TrimSpace(fmt.Sprintf(
		"Somebody deleted the owner data (workload annotations) of machine %s by hand. The next apply writes the marks again. Apply before you destroy anything. %s", m.Hostname, more)))
}

// ReportUpdate says why an update of an object, such as "VM host kvm1", ended too early. If
// only its time was up, the next apply continues.
func ReportUpdate(wait context.Context, diags *diag.Diagnostics, doing, object string, err error) {
	ReportUpdateAs(wait, diags, doing, object+" is not finished", err)
}

// ReportUpdateAs is ReportUpdate with another summary if the time was up.
func ReportUpdateAs(wait context.Context, diags *diag.Diagnostics, doing, summary string, err error) {
	if wait.Err() == nil {
		ReportError(diags, doing, err)
		return
	}
	diags.AddError(summary, fmt.Sprintf("%s\n\nThe next apply continues from here.%s",
		ExplainWaitEnd(wait.Err(), "timeouts.update"), Paragraph(ErrorBesideEnd(err))))
}

// ReportDelete says why a delete of an object, such as "VM web-1", ended too early. If only
// its time was up, the summary is notYet, such as "is not gone yet".
func ReportDelete(wait context.Context, diags *diag.Diagnostics, doing, object, notYet string, err error) {
	if wait.Err() == nil {
		ReportError(diags, doing, err)
		return
	}
	diags.AddError(object+" "+notYet, fmt.Sprintf("%s\n\nIt stays in the state; the next destroy continues from here.%s",
		ExplainWaitEnd(wait.Err(), "timeouts.delete"), Paragraph(ErrorBesideEnd(err))))
}

// ErrorAt is an error with its attribute; empty: none.
type ErrorAt struct {
	At  path.Path
	Err error
}

// ErrorsAt returns the attributes of an engine's error.
func ErrorsAt(at path.Path, err error) []ErrorAt {
	var all []ErrorAt
	for _, spec := range SpecErrors(err) {
		all = append(all, ErrorAt{attributePath(spec.Field), spec})
	}
	if len(all) > 0 {
		return all
	}
	if _, ok := errors.AsType[*engine.Error](err); !ok {
		at = path.Empty()
	}
	return []ErrorAt{{at, err}}
}

// SpecErrors lists the errors of a spec: one field, or several if errors were joined.
func SpecErrors(err error) []*engine.SpecError {
	switch e := err.(type) {
	case *engine.SpecError:
		return []*engine.SpecError{e}
	case interface{ Unwrap() error }:
		return SpecErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*engine.SpecError
		for _, inner := range e.Unwrap() {
			all = append(all, SpecErrors(inner)...)
		}
		return all
	default:
		return nil
	}
}

// AddErrorAt adds an error at the attribute.
func AddErrorAt(diags *diag.Diagnostics, at path.Path, summary, detail string) {
	if len(at.Steps()) == 0 {
		diags.AddError(summary, detail)
		return
	}
	diags.AddAttributeError(OwnAttribute(at), summary, detail)
}

// OwnAttribute is the attribute for a diagnostic. The CLI looks for the last step of a path
// among the resource's own attributes, and would show name for bridge.name. Then it is the
// outermost attribute, and the detail names the other.
func OwnAttribute(at path.Path) path.Path {
	steps := at.Steps()
	if last := steps[len(steps)-1].String(); slices.Contains(resourceAttributes, last) {
		return path.Root(steps[0].String())
	}
	return at
}
