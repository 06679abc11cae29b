package client

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// PlanCheckTimeout limits the calls to MAAS of one resource's plan.
const PlanCheckTimeout = 30 * time.Second

// DestroyAllHint is the way out of a refused destroy. A destroy also plans the configuration,
// unless it runs without a refresh.
const DestroyAllHint = "If you ran terraform destroy, add -refresh=false."

// ObstacleReport reports the obstacles of a plan.
type ObstacleReport struct {
	Object   string // such as "VM web"
	Action   string // "replace", "update" or "create"
	Replaces bool   // the plan is known to replace an object of the state
	IsPlaced bool   // the configuration names no VM host
	IsForced bool   // the user replaces the object, by -replace or replace_triggered_by
	Run      *Run
	Diags    *diag.Diagnostics

	mayReplace bool // MAAS has the object already, and the state may have it, too
}

// AddDiagnostics turns obstacles into diagnostics. They are errors if the plan destroys an
// object that it could not make again, or changes an existing one; else they are warnings.
// An object is not destroyed either if MAAS does not say whether it could be made again.
// Terraform shows no warning of a forced replacement, so there they are errors, too.
//
// The function isFinished tells whether MAAS has the object already. Without a refresh nobody knows
// whether the state has it, too, as a tainted one. If MAAS does not answer then, or if the
// configuration also renames the tainted object, the plan only warns.
func (v ObstacleReport) AddDiagnostics(o engine.Obstacles, isFinished func() bool) {
	if v.Action == "create" && len(o.Permanent)+len(o.Unchecked) > 0 && (v.Replaces || isFinished()) {
		v.Action, v.mayReplace = "replace", !v.Replaces
	}
	for _, err := range o.Unchecked {
		if v.IsForced || v.Action == "replace" {
			v.refuseReplacement(err, hintForUnchecked(err))
			continue
		}
		v.Run.WarnPlanUnchecked(err, v.Diags)
	}
	for _, err := range o.Permanent {
		if v.Action != "create" {
			v.addErrors(err, "")
			continue
		}
		v.addWarnings(err, sameRunHint(err))
	}
	for _, err := range o.Temporary {
		if v.IsForced {
			v.refuseReplacement(err, freeFirstHint)
			continue
		}
		v.addWarnings(err, v.freeingHint())
	}
}

// verb is what the messages call the action.
func (v ObstacleReport) verb() string {
	if v.mayReplace {
		return "create"
	}
	return v.Action
}

// hintForUnchecked says when a plan can be checked that MAAS has not answered. Another error says
// itself what to do.
func hintForUnchecked(err error) string {
	if errors.Is(err, engine.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return "Plan again when MAAS answers."
	}
	return ""
}

// freeFirstHint is the way out if another resource of the configuration has what a forced
// replacement needs.
const freeFirstHint = "If another resource of this configuration is to free it, apply that first. Then replace it by -replace or replace_triggered_by."

// refuseReplacement refuses a replacement.
func (v ObstacleReport) refuseReplacement(err error, wayOut string) {
	v.Action = "replace"
	v.addErrors(err, wayOut)
}

// freeingHint says what an apply does that needs what another object has now.
func (v ObstacleReport) freeingHint() string {
	const unless = "fails, unless this run first deletes or changes what is in the way."
	if v.verb() == "replace" {
		return "The apply destroys " + v.Object + ". Then it " + unless
	}
	return "The apply " + unless
}

// addErrors adds errors, and a way out besides the errors' own.
func (v ObstacleReport) addErrors(err error, wayOut string) {
	more := []string{"Nothing is changed."}
	switch {
	case v.mayReplace:
		more = []string{"MAAS has " + v.Object + " already. If the state has it as tainted, the apply would destroy it. So the plan stops here. " +
			"If the state has lost it, import it. If it belongs to another configuration, choose another name."}
	case v.Action == "replace":
		more = []string{"The plan stops here, before " + v.Object + " is destroyed."}
	case errors.Is(err, engine.ErrNotFound):
		more = append(more, "If another resource of this configuration makes what is missing, make that first: terraform apply -target=ADDRESS.")
	}
	if wayOut != "" {
		more = append(more, wayOut)
	}
	more = append(more, DestroyAllHint)
	for _, one := range v.errorsAt(err) {
		diagnostics.AddErrorAt(v.Diags, one.At, "Cannot "+v.verb()+" "+v.Object, diagnostics.ExplainError(one.Err)+diagnostics.Paragraph(strings.Join(more, " ")))
	}
}

func (v ObstacleReport) addWarnings(err error, more string) {
	summary := "Cannot " + v.verb() + " " + v.Object + " as things are"
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

// withOrderHint adds how to make placed VMs after the hosts of the same run.
func (v ObstacleReport) withOrderHint(err error) error {
	if v.IsPlaced && v.verb() == "create" {
		return diagnostics.WithOrderHint(err)
	}
	return err
}

// sameRunHint says how to refer to an object that the same run makes.
func sameRunHint(err error) string {
	if !errors.Is(err, engine.ErrNotFound) {
		return ""
	}
	if spec, ok := errors.AsType[*engine.SpecError](err); ok && spec.Field.RootName() == "vm_host" {
		return "If this run makes the VM host, refer to it by its id: vm_host = maaslxd_vm_host.NAME.id. Then it is made first, and the plan knows it."
	}
	return "If another resource of this configuration makes what is missing, refer to it by an attribute of that resource. Then it is made first."
}
