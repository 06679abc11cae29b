package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// namePatience is how long the plan of an object waits for that of the object that has its name. It
// begins anew with each further plan. Terraform plans ten at once, so two VMs that swap their names
// see each other's plans.
const namePatience = 2 * time.Second

// PlannedNames are the names that the plans of one run give to the objects of one kind.
type PlannedNames struct {
	mu       sync.Mutex
	planned  map[string]string // by system id; empty: the plan destroys the object
	lastPlan time.Time         // when planned last grew
}

// Names is a set of names.
type Names struct {
	mu  sync.Mutex
	all map[string]bool
}

// Add adds a name.
func (n *Names) Add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[string]bool{}
	}
	n.all[name] = true
}

// Contains tells whether the set has a name.
func (n *Names) Contains(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[name]
}

// NoteRename records that the plan gives an existing object the name of another one, such as "VM
// api-1". If another resource of this run takes the same name, it refuses before either does.
func (r *Run) NoteRename(object, systemID string, diags *diag.Diagnostics) {
	if r.noteRename(object, systemID) {
		diagnostics.ReportError(diags, "rename it to "+object, duplicateNameError(object))
	}
}

// noteRename tells whether another existing object of the run is planned to get the name. NotePlanned
// compares it with new objects.
func (r *Run) noteRename(object, systemID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plannedRenames == nil {
		r.plannedRenames = map[string]string{}
	}
	other, known := r.plannedRenames[object]
	r.plannedRenames[object] = systemID
	return !r.applying && known && other != systemID
}

// NotePlan records the name that the plan gives an object. An empty name says that the plan
// destroys the object. It tells whether another resource of the state has the same object, and one
// of the two keeps it.
func (n *PlannedNames) NotePlan(systemID, name string) (isDuplicate bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.planned == nil {
		n.planned = map[string]string{}
	}
	other, known := n.planned[systemID]
	n.planned[systemID], n.lastPlan = cmp.Or(name, other), time.Now()
	return known && (name != "" || other != "")
}

// WithoutFreed leaves out the obstacles that this run removes: objects that have the wanted name,
// and that the plan renames or destroys. It tells whether the plan destroys one of them.
func (n *PlannedNames) WithoutFreed(ctx context.Context, o engine.Obstacles, name string) (left engine.Obstacles, destroys bool) {
	isFreed := func(err error) bool {
		held, ok := errors.AsType[*engine.HeldByMachineError](err)
		if !ok {
			return false
		}
		spec, ok := errors.AsType[*engine.SpecError](err)
		if !ok || spec.Field.String() != "name" {
			return false
		}
		planned, known := n.AwaitName(ctx, held.SystemID)
		destroys = destroys || known && planned == ""
		return known && planned != name
	}
	o.Temporary, o.Permanent = slices.DeleteFunc(o.Temporary, isFreed), slices.DeleteFunc(o.Permanent, isFreed)
	return o, destroys
}

// Destroys tells whether the plan destroys an object.
func (n *PlannedNames) Destroys(ctx context.Context, systemID string) bool {
	planned, known := n.AwaitName(ctx, systemID)
	return known && planned == ""
}

// WarnMadeAnew warns that another resource of the configuration loses the object of this name, such
// as "VM web", and what is lost with it.
func WarnMadeAnew(object, lost string, diags *diag.Diagnostics) {
	diags.AddAttributeWarning(path.Root("name"), object+" will be made anew", fmt.Sprintf(
		"The plan destroys %s, and makes another one of this name. %s\n\nIf you only moved the resource in the configuration, for example from count "+
			"to for_each, write a moved block.", object, lost))
}

// IsPlanned tells whether the run plans the object with a system id. It waits for the plan as long as
// others follow.
func (n *PlannedNames) IsPlanned(ctx context.Context, systemID string) bool {
	_, known := n.AwaitName(ctx, systemID)
	return known
}

// AwaitName is the name that the plan gives an object, if it is known; empty: it destroys the object. It
// waits for the plan of the object, as long as others follow.
func (n *PlannedNames) AwaitName(ctx context.Context, systemID string) (name string, known bool) {
	const pause = namePatience / 40
	for {
		planned, known, waits := n.plannedName(systemID)
		if known || !waits || ctx.Err() != nil {
			return planned, known
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// plannedName is the planned name of an object. If it is not known yet, waits tells whether it may
// still become known.
func (n *PlannedNames) plannedName(systemID string) (name string, known, waits bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lastPlan.IsZero() {
		n.lastPlan = time.Now()
	}
	name, known = n.planned[systemID]
	return name, known, time.Since(n.lastPlan) < namePatience
}
