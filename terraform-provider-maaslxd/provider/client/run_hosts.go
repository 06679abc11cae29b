package client

import "slices"

// What a run makes of VM hosts is told to the VMs on them, and what it makes of
// VMs to their hosts: either may be planned first.

// NoteHostDestroy notes that the plan destroys a VM host, or replaces it.
func (r *Run) NoteHostDestroy(machine string, replaced bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.destroyedHosts == nil {
		r.destroyedHosts = map[string]bool{}
	}
	r.destroyedHosts[machine] = replaced
}

// destroysHost tells whether the plan destroys or replaces the VM host on a machine.
func (r *Run) destroysHost(machine string) (leaves, replaced bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	replaced, leaves = r.destroyedHosts[machine]
	return leaves && machine != "", replaced
}

// NoteVMStays notes that the plan leaves a VM where it is.
func (r *Run) NoteVMStays(machine, vm string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stayingVMs == nil {
		r.stayingVMs = map[string][]string{}
	}
	if machine != "" && !slices.Contains(r.stayingVMs[machine], vm) {
		r.stayingVMs[machine] = append(r.stayingVMs[machine], vm)
	}
}

// NoteVMReplaced takes that back: the VM is replaced after all.
func (r *Run) NoteVMReplaced(machine, vm string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := slices.Index(r.stayingVMs[machine], vm); n >= 0 {
		r.stayingVMs[machine] = slices.Delete(r.stayingVMs[machine], n, n+1)
	}
}

// VMsStayingOn lists the VMs that the plan leaves on a machine, as far as they are
// planned.
func (r *Run) VMsStayingOn(machine string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.stayingVMs[machine])
}

// NoteHostRename notes what the VM host on a machine is called from now on.
func (r *Run) NoteHostRename(machine, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newHostNames == nil {
		r.newHostNames = map[string]string{}
	}
	r.newHostNames[machine] = name
}

// NewHostName is the name that the plan gives to the VM host on a machine; empty: it is
// not renamed.
func (c *Client) NewHostName(machine string) string {
	if c == nil || machine == "" {
		return ""
	}
	return c.Run.newHostName(machine)
}

// DestroysHost tells whether the plan destroys or replaces the VM host on a machine.
func (c *Client) DestroysHost(machine string) (leaves, replaced bool) {
	if c == nil {
		return false, false
	}
	return c.Run.destroysHost(machine)
}

// newHostName is the name that the plan gives to the VM host on a machine; empty:
// it is not renamed.
func (r *Run) newHostName(machine string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newHostNames[machine]
}
