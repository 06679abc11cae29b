package client

import (
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// Run holds the notes that the plans of one run exchange. Terraform plans each resource alone,
// in no fixed order.
type Run struct {
	// The names that the plans give to VMs, VM hosts and machines. A VM's name is its hostname; the
	// others are not.
	VMNames, HostNames, MachineNames PlannedNames
	// LostHosts are the names of VM hosts that the plans would make, although MAAS has them and they are
	// finished. The state has lost them.
	LostHosts Names

	mu                sync.Mutex
	givenWarnings     map[string]bool // warnings that the user has seen
	plannedChanges    map[string]bool // objects that the plan changes, and whether an attribute replaces them
	isMAASUnreachable bool            // MAAS did not answer a check, so it is not asked again
	applying          bool            // the apply has changed something: earlier plans no longer hold
	vmNeeds           map[string]vmNeed
	hasReadState      bool     // the run has read something of the state
	makesHosts        bool     // the run makes VM hosts, which no list shows yet
	unfinishedHosts   []string // system ids and names of VM hosts
	plannedCreates    map[string]bool
	plannedRenames    map[string]string  // system ids, by the new name such as "VM api-1"
	vmsInState        map[string]StateVM // by name
	idsInState        map[string]string  // system ids of VM hosts and machines, by object such as "VM host kvm1"

	trusted map[string]TrustedCertificate // by VM host of the state

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

// The actions. Terraform plans an object that it replaces twice: as a change, and as new. The
// second plan has no state, but the private state.
const (
	ActionCreate   Action = iota
	ActionChange          // in place, or none
	ActionReplace         // an attribute replaces the object
	ActionRecreate        // the second plan of a replacement
)

// Replacement is what the two plans of an object tell together. The zero value: the object is
// not replaced, or this is its first plan.
type Replacement struct {
	IsReplaced bool
	IsForced   bool // no attribute replaces it: the user does, by -replace or replace_triggered_by
}

// notePlannedAction records the plan of an object. It tells whether another resource has or makes
// an object of the same name. Terraform plans each resource as new at most once, and a tainted one
// only as new.
func (r *Run) notePlannedAction(object string, action Action) (replacement Replacement, isDuplicate bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plannedChanges == nil {
		r.plannedChanges, r.plannedCreates = map[string]bool{}, map[string]bool{}
	}
	byAttribute, changes := r.plannedChanges[object]
	switch action {
	case ActionChange, ActionReplace:
		r.plannedChanges[object] = action == ActionReplace
		return Replacement{}, r.plannedCreates[object] && !r.applying
	case ActionCreate:
		isDuplicate = (changes && !byAttribute || r.plannedCreates[object]) && !r.applying
	case ActionRecreate:
		isDuplicate = r.plannedCreates[object] && !r.applying
		replacement = Replacement{IsReplaced: true, IsForced: !byAttribute}
	}
	if action == ActionCreate && byAttribute { // its private state is empty
		replacement.IsReplaced = true
	}
	r.plannedCreates[object] = true
	return replacement, isDuplicate
}

// NoteInState records that the state has a VM host or machine that still exists. Terraform plans a tainted one as
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

// TrustedCertificate is the certificate that a VM host of the state trusts.
type TrustedCertificate struct {
	Host, Fingerprint string
	// IsOnlyListed: its operator has listed it, and MAAS notes none. Such a VM host was moved or imported.
	IsOnlyListed bool
}

// NoteTrustedCertificate records what a VM host of the state trusts.
func (r *Run) NoteTrustedCertificate(c TrustedCertificate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Fingerprint == "" {
		return
	}
	if r.trusted == nil {
		r.trusted = map[string]TrustedCertificate{}
	}
	r.trusted[c.Host] = c
}

// CertificateTrustedBeside is what a VM host of the state trusts, other than the one with this name. It
// prefers one that MAAS does not note. The zero value: the run knows none.
func (r *Run) CertificateTrustedBeside(name string) TrustedCertificate {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found TrustedCertificate
	for _, host := range slices.Sorted(maps.Keys(r.trusted)) {
		if c := r.trusted[host]; host != name && (found.Fingerprint == "" || c.IsOnlyListed && !found.IsOnlyListed) {
			found = c
		}
	}
	return found
}

// WarnPlanUnchecked warns, once in a run, that MAAS did not answer.
func (r *Run) WarnPlanUnchecked(err error, diags *diag.Diagnostics) {
	r.mu.Lock()
	known := r.isMAASUnreachable
	r.isMAASUnreachable = true
	r.mu.Unlock()
	switch {
	case known:
	case api.IsStatus(err, http.StatusUnauthorized): // MAAS has answered
		diags.AddError("MAAS refuses the API key", diagnostics.ExplainError(err))
	default:
		diags.AddWarning("The plan is not checked against MAAS", diagnostics.ExplainError(err)+diagnostics.Paragraph(
			"So the plan may name VM hosts, images or subnets that do not exist. The apply checks them"))
	}
}
