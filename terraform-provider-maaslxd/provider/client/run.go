package client

import (
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// Run holds the notes that the plans of one run exchange. Terraform plans each resource alone,
// in no fixed order.
type Run struct {
	// VMNames are the names that the plans give to VMs.
	VMNames VMNames

	mu                sync.Mutex
	givenWarnings     map[string]bool // warnings that the user has seen
	plannedChanges    map[string]bool // objects that the plan changes, and whether an attribute replaces them
	isMAASUnreachable bool            // MAAS did not answer a check, so it is not asked again
	applying          bool            // the apply has changed something: earlier plans no longer hold
	vmNeeds           map[string]vmNeed
	hasReadState      bool // the run has read something of the state
	makesHosts        bool // the run makes VM hosts, which no list shows yet
	plannedCreates    map[string]bool
	plannedRenames    map[string]string  // system ids, by the new name such as "VM api-1"
	vmsInState        map[string]StateVM // by name
	idsInState        map[string]string  // system ids of VM hosts and machines, by object such as "VM host kvm1"

	trustingHost       string // a VM host of the state, and the certificate that it trusts
	trustedFingerprint string

	destroyedHosts map[string]bool     // machines whose VM host the plan destroys, and whether it replaces it
	stayingVMs     map[string][]string // VMs that stay, by the machine of their host
	newHostNames   map[string]string   // new names of VM hosts, by machine
}

// NoteNewHost records that the run makes a VM host.
func (r *Run) NoteNewHost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.makesHosts = true
}

// MakesHosts tells whether the run makes VM hosts.
func (r *Run) MakesHosts() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.makesHosts
}

// BeginApply records that the run now changes something. From then on, Terraform plans each
// resource again just before it applies it, and the engine itself checks what is created.
func (r *Run) BeginApply() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applying = true
}

// WantsPlanCheck tells whether a plan should ask MAAS. If MAAS did not answer an earlier check,
// only a replacement asks again: no object is destroyed unchecked.
func (r *Run) WantsPlanCheck(isReplacement bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.applying && (isReplacement || !r.isMAASUnreachable)
}

// Action is what a plan does with an object.
type Action int

// The actions. Terraform plans an object that it replaces twice: as a change, and as new.
const (
	ActionCreate  Action = iota
	ActionChange         // in place, or none
	ActionReplace        // an attribute replaces the object
)

// Replacement is what the two plans of an object tell together. The zero value: the object is
// not replaced, or this is its first plan.
type Replacement struct {
	IsReplaced bool
	IsForced   bool // no attribute replaces it: the user does, by -replace or replace_triggered_by
}

// notePlannedAction records the plan of an object.
func (r *Run) notePlannedAction(object string, action Action) Replacement {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plannedChanges == nil {
		r.plannedChanges = map[string]bool{}
	}
	if action != ActionCreate {
		r.plannedChanges[object] = action == ActionReplace
		return Replacement{}
	}
	byAttribute, changed := r.plannedChanges[object]
	return Replacement{IsReplaced: changed, IsForced: changed && !byAttribute}
}

// noteCreate tells whether an object is planned as new for the second time. Terraform plans
// each resource as new once, also one that it replaces. So the second time is another
// resource.
func (r *Run) noteCreate(object string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plannedCreates == nil {
		r.plannedCreates = map[string]bool{}
	}
	again := r.plannedCreates[object] && !r.applying
	r.plannedCreates[object] = true
	return again
}

// NoteInState records that the state has a VM host or machine. Terraform plans a tainted one as
// new, and so it plans the second time one that it replaces.
func (r *Run) NoteInState(object, systemID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idsInState == nil {
		r.idsInState = map[string]string{}
	}
	r.idsInState[object] = systemID
}

// SystemIDInState is the system id of the state's VM host or machine; empty: the run knows none.
func (r *Run) SystemIDInState(object string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idsInState[object]
}

// ClaimWarning tells whether a text is new in this run. Terraform plans a replaced object
// twice: as a change, and as new.
func (r *Run) ClaimWarning(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.givenWarnings == nil {
		r.givenWarnings = map[string]bool{}
	}
	known := r.givenWarnings[text]
	r.givenWarnings[text] = true
	return !known
}

// NoteTrustedCertificate records the certificate that a VM host of the state trusts.
func (r *Run) NoteTrustedCertificate(host, fingerprint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fingerprint != "" {
		r.trustingHost, r.trustedFingerprint = host, fingerprint
	}
}

// TrustedCertificate is a VM host of the state that the run has read, with the certificate
// that it trusts; empty: none.
func (r *Run) TrustedCertificate() (host, fingerprint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trustingHost, r.trustedFingerprint
}

// WarnPlanUnchecked warns, once in a run, that MAAS did not answer.
func (r *Run) WarnPlanUnchecked(err error, diags *diag.Diagnostics) {
	r.mu.Lock()
	known := r.isMAASUnreachable
	r.isMAASUnreachable = true
	r.mu.Unlock()
	if !known {
		diags.AddWarning("The plan is not checked against MAAS", diagnostics.ExplainError(err)+diagnostics.Paragraph(
			"So the plan may name VM hosts, images or subnets that do not exist. The apply checks them"))
	}
}
