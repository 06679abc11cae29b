package client

import (
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

// DestroyAllHint is the way out if you want to destroy everything. A destroy also plans the
// configuration, unless it runs without a refresh.
const DestroyAllHint = "To destroy everything instead, run terraform destroy -refresh=false."

// ObstacleReport reports the obstacles of a plan.
type ObstacleReport struct {
	Object   string // such as "VM web"
	Action   string // "replace", "update" or "create"
	IsPlaced bool   // the configuration names no VM host
	IsForced bool   // the user replaces the object, by -replace or replace_triggered_by
	Run      *Run
	Diags    *diag.Diagnostics
}

// AddDiagnostics turns obstacles into diagnostics. They are errors if the plan destroys an
// object that it could not make again, or changes an existing one; else they are warnings.
// Terraform shows no warning of a forced replacement, so there they are errors, too. The function
// stands tells whether a created object replaces an existing one.
func (v ObstacleReport) AddDiagnostics(o engine.Obstacles, stands func() bool) {
	for _, err := range o.Unchecked {
		if v.IsForced {
			v.refuseForced(err, "Plan again when MAAS answers.")
			continue
		}
		v.Run.WarnPlanUnchecked(err, v.Diags)
	}
	if v.Action == "create" && len(o.Permanent) > 0 && stands() {
		v.Action = "replace"
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
			v.refuseForced(err, freeFirstHint)
			continue
		}
		v.addWarnings(err, v.freeingHint())
	}
}

// freeFirstHint is the way out if another resource of the configuration has what a forced
// replacement needs.
const freeFirstHint = "If another resource of this configuration is to free it, apply that first. Then replace it by -replace or replace_triggered_by."

// refuseForced refuses a forced replacement.
func (v ObstacleReport) refuseForced(err error, wayOut string) {
	v.Action = "replace"
	v.addErrors(err, wayOut)
}

// freeingHint says what an apply does that needs what another object has now.
func (v ObstacleReport) freeingHint() string {
	hint := "The apply works only if this run frees it first. Otherwise it fails."
	if v.Action == "replace" {
		return hint + " Terraform destroys " + v.Object + " before it makes the new one."
	}
	return hint
}

// addErrors adds errors, and a way out besides the errors' own.
func (v ObstacleReport) addErrors(err error, wayOut string) {
	more := []string{"Nothing is changed."}
	switch {
	case v.Action == "replace":
		more = []string{"The plan stops here, before " + v.Object + " is destroyed."}
	case errors.Is(err, engine.ErrNotFound):
		more = append(more, "If this run makes it, make it first: terraform apply -target=ADDRESS.")
	}
	if wayOut != "" {
		more = append(more, wayOut)
	}
	more = append(more, DestroyAllHint)
	for _, one := range v.errorsAt(err) {
		diagnostics.AddErrorAt(v.Diags, one.At, "Cannot "+v.Action+" "+v.Object, diagnostics.ExplainError(one.Err)+diagnostics.Paragraph(strings.Join(more, " ")))
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

// withOrderHint adds how to make placed VMs after the hosts of the same run.
func (v ObstacleReport) withOrderHint(err error) error {
	if v.IsPlaced && v.Action == "create" {
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
	return "If this run makes it, refer to it by an attribute of its resource, so that it is made first."
}
