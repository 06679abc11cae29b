package provider

import (
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine"
)

// checkTimeout bounds the looks of one resource's plan at MAAS.
const checkTimeout = 30 * time.Second

// destroyAll is the way out for who wants nothing of it any more: a destroy plans
// the configuration as well, unless it does without a refresh.
const destroyAll = "To destroy everything instead, run terraform destroy -refresh=false."

// verdict is how a plan tells what is in its way.
type verdict struct {
	what   string // "VM web"
	doing  string // "replace", "update", "create"
	placed bool   // no VM host is named
	run    *planRun
	diags  *diag.Diagnostics
}

// pass turns obstacles into diagnostics: errors where the plan would destroy what it
// could not make anew, or changes what stands, else warnings. stands tells whether
// what is created takes the place of something.
func (v verdict) pass(o engine.Obstacles, stands func() bool) {
	for _, err := range o.Unseen {
		v.run.unseen(err, v.diags)
	}
	if v.doing == "create" && len(o.Lasting) > 0 && stands() {
		v.doing = "replace"
	}
	for _, err := range o.Lasting {
		if v.doing != "create" {
			v.refuse(err)
			continue
		}
		v.warn(err, madeByThisRun(err))
	}
	for _, err := range o.Passing {
		v.warn(err, "The apply goes on if this run frees it, and fails otherwise.")
	}
}

func (v verdict) refuse(err error) {
	more := "Nothing is changed."
	switch {
	case v.doing == "replace":
		more = "The plan stops here, before " + v.what + " is destroyed."
	case errors.Is(err, engine.ErrNotFound):
		more += " If this run makes it, make it first: terraform apply -target=ADDRESS."
	}
	for _, one := range v.each(err) {
		add(v.diags, one.at, "Cannot "+v.doing+" "+v.what, explain(one.err)+paragraph(more+" "+destroyAll))
	}
}

func (v verdict) warn(err error, more string) {
	summary := "Cannot " + v.doing + " " + v.what + " as things are"
	for _, one := range v.each(v.hinted(err)) {
		if !v.run.once(summary + one.err.Error()) {
			continue
		}
		detail := explain(one.err) + paragraph(more)
		if len(one.at.Steps()) == 0 {
			v.diags.AddWarning(summary, detail)
		} else {
			v.diags.AddAttributeWarning(ownAttribute(one.at), summary, detail)
		}
	}
}

func (v verdict) each(err error) []errorAt { return errorsAt(path.Empty(), err) }

// hinted adds how VMs that are placed are made after the hosts of the same run.
func (v verdict) hinted(err error) error {
	if v.placed && v.doing == "create" {
		return orderHint(err)
	}
	return err
}

// madeByThisRun says how to name what the same run makes.
func madeByThisRun(err error) string {
	if !errors.Is(err, engine.ErrNotFound) {
		return ""
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok && spec.Field == "vm_host" {
		return "If this run makes the VM host, refer to it by its id: vm_host = maaslxd_vm_host.NAME.id. Then it is made first, and known by then."
	}
	return "If this run makes it, refer to it by an attribute of its resource, so that it is made first."
}
