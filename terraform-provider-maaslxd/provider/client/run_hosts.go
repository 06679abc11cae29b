package client

import "slices"

// The plans of VM hosts and of their VMs read each other's notes here, because Terraform may
// plan either first.

// NoteHostDestroy records that the plan destroys or replaces a VM host.
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

// NoteVMStays records that the plan leaves a VM where it is.
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

// NoteVMReplaced takes NoteVMStays back: the plan replaces the VM after all.
func (r *Run) NoteVMReplaced(machine, vm string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := slices.Index(r.stayingVMs[machine], vm); n >= 0 {
		r.stayingVMs[machine] = slices.Delete(r.stayingVMs[machine], n, n+1)
	}
}

// VMsStayingOn lists the VMs that the plan leaves on a machine, by what is planned so far.
func (r *Run) VMsStayingOn(machine string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.stayingVMs[machine])
}

// NoteUnfinishedHost records that the run finishes a VM host of the state, which MAAS may not list
// yet.
func (r *Run) NoteUnfinishedHost(machine, name string) {
	r.NoteNewHost()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unfinishedHosts = append(r.unfinishedHosts, machine, name)
}

// FinishesHost tells whether the run finishes the VM host that a VM names.
func (r *Run) FinishesHost(named string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return named != "" && slices.Contains(r.unfinishedHosts, named)
}

// NoteHostRename records the new name of the VM host on a machine.
func (r *Run) NoteHostRename(machine, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newHostNames == nil {
		r.newHostNames = map[string]string{}
	}
	r.newHostNames[machine] = name
}

// NewHostName is the planned new name of the VM host on a machine; empty: it keeps its name.
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

// newHostName is the planned new name of the VM host on a machine; empty: it keeps its name.
func (r *Run) newHostName(machine string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newHostNames[machine]
}
