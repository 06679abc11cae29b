package client

import (
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// Run is what the plans of one run tell each other. Terraform plans each
// resource alone, and some in an order of its own.
type Run struct {
	mu       sync.Mutex
	said     map[string]bool // warnings that were given
	changes  map[string]bool // what was planned as a change
	blind    bool            // MAAS did not answer a check: it is asked no more
	applying bool            // something was changed: plans of before hold no more
	wanted   map[string]vmNeed
	read     bool // something of the state was read
	hosts    bool // VM hosts are made, which nothing shows yet
	creates  map[string]bool
	held     map[string]string // system ids of the VMs that the state names, by name

	trusting    string // a VM host of the state, and the certificate that it trusts
	fingerprint string

	leaving map[string]bool     // machines whose VM host is destroyed, and whether it is replaced
	staying map[string][]string // VMs that stay, by the machine of their host
	renamed map[string]string   // new names of VM hosts, by machine
}

// NoteNewHost notes that the run makes a VM host.
func (r *Run) NoteNewHost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts = true
}

// MakesHosts tells whether the run makes VM hosts.
func (r *Run) MakesHosts() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hosts
}

// Begin notes that the run changes something from now on. Terraform then plans
// each resource once more, just before its turn, and what it creates is checked
// by the engine itself.
func (r *Run) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applying = true
}

// ChecksPlans tells whether a plan is worth a look at MAAS.
func (r *Run) ChecksPlans() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.applying && !r.blind
}

// twice tells whether an object is planned as something new after it was planned
// as a change: Terraform replaces it.
func (r *Run) twice(object string, change bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == nil {
		r.changes = map[string]bool{}
	}
	if change {
		r.changes[object] = true
	}
	return !change && r.changes[object]
}

// createsAgain tells whether an object is planned as something new for the second
// time. Terraform plans each resource once as something new, also one that it
// replaces, so the second time is another resource.
func (r *Run) createsAgain(object string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.creates == nil {
		r.creates = map[string]bool{}
	}
	again := r.creates[object] && !r.applying
	r.creates[object] = true
	return again
}

// NoteHeld notes that the state names a VM. Terraform plans a tainted one as
// something new, without a word of the one that it takes the place of.
func (r *Run) NoteHeld(name, systemID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = map[string]string{}
	}
	r.held[name] = systemID
}

// HeldSystemID is the system id of the VM of a name in the state; empty: none was read.
func (r *Run) HeldSystemID(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[name]
}

// Once tells whether a text is new to this run. Terraform plans what it replaces
// twice: as a change, and as something new.
func (r *Run) Once(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil {
		r.said = map[string]bool{}
	}
	known := r.said[text]
	r.said[text] = true
	return !known
}

// NoteTrusted notes which certificate a VM host of the state trusts.
func (r *Run) NoteTrusted(host, fingerprint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fingerprint != "" {
		r.trusting, r.fingerprint = host, fingerprint
	}
}

// TrustedCertificate is a VM host of the state that was read by now, with the certificate
// that it trusts; empty: none.
func (r *Run) TrustedCertificate() (host, fingerprint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trusting, r.fingerprint
}

// WarnUnseen warns, once in a run, that MAAS did not answer.
func (r *Run) WarnUnseen(err error, diags *diag.Diagnostics) {
	r.mu.Lock()
	known := r.blind
	r.blind = true
	r.mu.Unlock()
	if !known {
		diags.AddWarning("The plan is not checked against MAAS", diagnostics.Explain(err)+diagnostics.Paragraph(
			"So nothing tells whether hosts, images, subnets and the like are there that the plan names. The apply looks itself, "+
				"but what it replaces is destroyed by then"))
	}
}
