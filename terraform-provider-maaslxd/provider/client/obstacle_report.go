package client

import (
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// PlanCheckTimeout bounds the looks of one resource's plan at MAAS.
const PlanCheckTimeout = 30 * time.Second

// DestroyAllHint is the way out for who wants nothing of it any more: a destroy plans
// the configuration as well, unless it does without a refresh.
const DestroyAllHint = "To destroy everything instead, run terraform destroy -refresh=false."

// ObstacleReport is how a plan tells what is in its way.
type ObstacleReport struct {
	Object   string // "VM web"
	Action   string // "replace", "update", "create"
	IsPlaced bool   // no VM host is named
	Run      *Run
	Diags    *diag.Diagnostics
}

// AddDiagnostics turns obstacles into diagnostics: errors where the plan would destroy what it
// could not make anew, or changes what stands, else warnings. stands tells whether
// what is created takes the place of something.
func (v ObstacleReport) AddDiagnostics(o engine.Obstacles, stands func() bool) {
	for _, err := range o.Unchecked {
		v.Run.WarnPlanUnchecked(err, v.Diags)
	}
	if v.Action == "create" && len(o.Permanent) > 0 && stands() {
		v.Action = "replace"
	}
	for _, err := range o.Permanent {
		if v.Action != "create" {
			v.addErrors(err)
			continue
		}
		v.addWarnings(err, sameRunHint(err))
	}
	for _, err := range o.Temporary {
		v.addWarnings(err, "The apply goes on if this run frees it, and fails otherwise.")
	}
}

func (v ObstacleReport) addErrors(err error) {
	more := "Nothing is changed."
	switch {
	case v.Action == "replace":
		more = "The plan stops here, before " + v.Object + " is destroyed."
	case errors.Is(err, engine.ErrNotFound):
		more += " If this run makes it, make it first: terraform apply -target=ADDRESS."
	}
	for _, one := range v.errorsAt(err) {
		diagnostics.AddErrorAt(v.Diags, one.At, "Cannot "+v.Action+" "+v.Object, diagnostics.ExplainError(one.Err)+diagnostics.Paragraph(more+" "+DestroyAllHint))
	}
}

func (v ObstacleReport) addWarnings(err error, more string) {
	summary := "Cannot " + v.Action + " " + v.Object + " as things are"
	for _, one := range v.errorsAt(v.withOrderHint(err)) {
		if !v.Run.ClaimWarning(summary + one.Err.Error()) {
			continue
		}
		detail := diagnostics.ExplainError(one.Err) + diagnostics.Paragraph(more)
		if len(one.At.Steps()) == 0 {
			v.Diags.AddWarning(summary, detail)
		} else {
			v.Diags.AddAttributeWarning(diagnostics.OwnAttribute(one.At), summary, detail)
		}
	}
}

func (v ObstacleReport) errorsAt(err error) []diagnostics.ErrorAt {
	return diagnostics.ErrorsAt(path.Empty(), err)
}

// withOrderHint adds how VMs that are placed are made after the hosts of the same run.
func (v ObstacleReport) withOrderHint(err error) error {
	if v.IsPlaced && v.Action == "create" {
		return diagnostics.WithOrderHint(err)
	}
	return err
}

// sameRunHint says how to name what the same run makes.
func sameRunHint(err error) string {
	if !errors.Is(err, engine.ErrNotFound) {
		return ""
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok && spec.Field.RootName() == "vm_host" {
		return "If this run makes the VM host, refer to it by its id: vm_host = maaslxd_vm_host.NAME.id. Then it is made first, and known by then."
	}
	return "If this run makes it, refer to it by an attribute of its resource, so that it is made first."
}
