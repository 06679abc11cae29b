package client

import (
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// CheckTimeout bounds the looks of one resource's plan at MAAS.
const CheckTimeout = 30 * time.Second

// DestroyAllHint is the way out for who wants nothing of it any more: a destroy plans
// the configuration as well, unless it does without a refresh.
const DestroyAllHint = "To destroy everything instead, run terraform destroy -refresh=false."

// Verdict is how a plan tells what is in its way.
type Verdict struct {
	What   string // "VM web"
	Doing  string // "replace", "update", "create"
	Placed bool   // no VM host is named
	Run    *Run
	Diags  *diag.Diagnostics
}

// Report turns obstacles into diagnostics: errors where the plan would destroy what it
// could not make anew, or changes what stands, else warnings. stands tells whether
// what is created takes the place of something.
func (v Verdict) Report(o engine.Obstacles, stands func() bool) {
	for _, err := range o.Unseen {
		v.Run.WarnUnseen(err, v.Diags)
	}
	if v.Doing == "create" && len(o.Lasting) > 0 && stands() {
		v.Doing = "replace"
	}
	for _, err := range o.Lasting {
		if v.Doing != "create" {
			v.refuse(err)
			continue
		}
		v.warn(err, madeByThisRun(err))
	}
	for _, err := range o.Passing {
		v.warn(err, "The apply goes on if this run frees it, and fails otherwise.")
	}
}

func (v Verdict) refuse(err error) {
	more := "Nothing is changed."
	switch {
	case v.Doing == "replace":
		more = "The plan stops here, before " + v.What + " is destroyed."
	case errors.Is(err, engine.ErrNotFound):
		more += " If this run makes it, make it first: terraform apply -target=ADDRESS."
	}
	for _, one := range v.each(err) {
		diagnostics.AddErrorAt(v.Diags, one.At, "Cannot "+v.Doing+" "+v.What, diagnostics.Explain(one.Err)+diagnostics.Paragraph(more+" "+DestroyAllHint))
	}
}

func (v Verdict) warn(err error, more string) {
	summary := "Cannot " + v.Doing + " " + v.What + " as things are"
	for _, one := range v.each(v.hinted(err)) {
		if !v.Run.Once(summary + one.Err.Error()) {
			continue
		}
		detail := diagnostics.Explain(one.Err) + diagnostics.Paragraph(more)
		if len(one.At.Steps()) == 0 {
			v.Diags.AddWarning(summary, detail)
		} else {
			v.Diags.AddAttributeWarning(diagnostics.OwnAttribute(one.At), summary, detail)
		}
	}
}

func (v Verdict) each(err error) []diagnostics.ErrorAt {
	return diagnostics.ErrorsAt(path.Empty(), err)
}

// hinted adds how VMs that are placed are made after the hosts of the same run.
func (v Verdict) hinted(err error) error {
	if v.Placed && v.Doing == "create" {
		return diagnostics.WithOrderHint(err)
	}
	return err
}

// madeByThisRun says how to name what the same run makes.
func madeByThisRun(err error) string {
	if !errors.Is(err, engine.ErrNotFound) {
		return ""
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok && spec.Field.Root() == "vm_host" {
		return "If this run makes the VM host, refer to it by its id: vm_host = maaslxd_vm_host.NAME.id. Then it is made first, and known by then."
	}
	return "If this run makes it, refer to it by an attribute of its resource, so that it is made first."
}
