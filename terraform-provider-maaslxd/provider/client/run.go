package client

import (
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// Run is what the plans of one run tell each other. Terraform plans each
// resource alone, and some in an order of its own.
type Run struct {
	mu                sync.Mutex
	givenWarnings     map[string]bool // warnings that were given
	plannedChanges    map[string]bool // what was planned as a change
	isMAASUnreachable bool            // MAAS did not answer a check: it is asked no more
	applying          bool            // something was changed: plans of before hold no more
	vmNeeds           map[string]vmNeed
	hasReadState      bool // something of the state was read
	makesHosts        bool // VM hosts are made, which nothing shows yet
	plannedCreates    map[string]bool
	vmIDsInState      map[string]string // system ids of the VMs that the state names, by name

	trustingHost       string // a VM host of the state, and the certificate that it trusts
	trustedFingerprint string

	destroyedHosts map[string]bool     // machines whose VM host is destroyed, and whether it is replaced
	stayingVMs     map[string][]string // VMs that stay, by the machine of their host
	newHostNames   map[string]string   // new names of VM hosts, by machine
}

// NoteNewHost notes that the run makes a VM host.
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

// BeginApply notes that the run changes something from now on. Terraform then plans
// each resource once more, just before its turn, and what it creates is checked
// by the engine itself.
func (r *Run) BeginApply() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applying = true
}

// WantsPlanCheck tells whether a plan is worth a look at MAAS.
func (r *Run) WantsPlanCheck() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.applying && !r.isMAASUnreachable
}

// notePlannedAction tells whether an object is planned as something new after it was planned
// as a change: Terraform replaces it.
func (r *Run) notePlannedAction(object string, change bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plannedChanges == nil {
		r.plannedChanges = map[string]bool{}
	}
	if change {
		r.plannedChanges[object] = true
	}
	return !change && r.plannedChanges[object]
}

// noteCreate tells whether an object is planned as something new for the second
// time. Terraform plans each resource once as something new, also one that it
// replaces, so the second time is another resource.
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

// NoteVMInState notes that the state names a VM. Terraform plans a tainted one as
// something new, without a word of the one that it takes the place of.
func (r *Run) NoteVMInState(name, systemID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.vmIDsInState == nil {
		r.vmIDsInState = map[string]string{}
	}
	r.vmIDsInState[name] = systemID
}

// VMIDInState is the system id of the VM of a name in the state; empty: none was read.
func (r *Run) VMIDInState(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.vmIDsInState[name]
}

// ClaimWarning tells whether a text is new to this run. Terraform plans what it replaces
// twice: as a change, and as something new.
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

// NoteTrustedCertificate notes which certificate a VM host of the state trusts.
func (r *Run) NoteTrustedCertificate(host, fingerprint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fingerprint != "" {
		r.trustingHost, r.trustedFingerprint = host, fingerprint
	}
}

// TrustedCertificate is a VM host of the state that was read by now, with the certificate
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
			"So nothing tells whether hosts, images, subnets and the like are there that the plan names. The apply looks itself, "+
				"but what it replaces is destroyed by then"))
	}
}
