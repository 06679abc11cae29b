package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// namePatience is how long the plan of a VM waits for that of the VM that has its name. It begins
// anew with each plan of another VM. Terraform plans ten at once, so two VMs that swap their
// names see each other's plans.
const namePatience = 2 * time.Second

// VMNames are the names that the plans of one run give to VMs.
type VMNames struct {
	mu       sync.Mutex
	planned  map[string]string // by system id; empty: the plan destroys the VM
	lastPlan time.Time         // when planned last grew
}

// NoteRename records that the plan gives an existing object the name of another one, such as "VM
// api-1". If another resource of this run takes the same name, it refuses before either does.
func (r *Run) NoteRename(object, systemID string, diags *diag.Diagnostics) {
	if r.noteRename(object, systemID) {
		diagnostics.ReportError(diags, "rename it to "+object, duplicateNameError(object))
	}
}

// noteRename tells whether another object of the run is planned to get the name. A create that
// follows may be the forced replacement of the renamed object itself, so it is not compared.
func (r *Run) noteRename(object, systemID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plannedRenames == nil {
		r.plannedRenames = map[string]string{}
	}
	other, known := r.plannedRenames[object]
	r.plannedRenames[object] = systemID
	return !r.applying && (known && other != systemID || r.plannedCreates[object])
}

// NotePlan records the name that the plan gives a VM. An empty name says that the plan destroys
// the VM.
func (n *VMNames) NotePlan(systemID, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.planned == nil {
		n.planned = map[string]string{}
	}
	n.planned[systemID], n.lastPlan = name, time.Now()
}

// WithoutFreed leaves out the obstacles that this run removes: VMs that have the wanted name,
// and that the plan renames or destroys. It tells whether the plan destroys one of them.
func (n *VMNames) WithoutFreed(ctx context.Context, o engine.Obstacles, name string) (left engine.Obstacles, destroys bool) {
	isFreed := func(err error) bool {
		held, ok := errors.AsType[*engine.HeldByMachineError](err)
		if !ok {
			return false
		}
		spec, ok := errors.AsType[*engine.SpecError](err)
		if !ok || spec.Field.String() != "name" {
			return false
		}
		planned, known := n.awaitPlan(ctx, held.SystemID)
		destroys = destroys || known && planned == ""
		return known && planned != name
	}
	o.Temporary, o.Permanent = slices.DeleteFunc(o.Temporary, isFreed), slices.DeleteFunc(o.Permanent, isFreed)
	return o, destroys
}

// Destroys tells whether the plan destroys a VM.
func (n *VMNames) Destroys(ctx context.Context, systemID string) bool {
	planned, known := n.awaitPlan(ctx, systemID)
	return known && planned == ""
}

// awaitPlan is the name that the plan gives a VM, if it is known. It waits for the plan of the
// VM, as long as others follow.
func (n *VMNames) awaitPlan(ctx context.Context, systemID string) (name string, known bool) {
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

// plannedName is the planned name of a VM. If it is not known yet, waits tells whether it may
// still become known.
func (n *VMNames) plannedName(systemID string) (name string, known, waits bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lastPlan.IsZero() {
		n.lastPlan = time.Now()
	}
	name, known = n.planned[systemID]
	return name, known, time.Since(n.lastPlan) < namePatience
}
