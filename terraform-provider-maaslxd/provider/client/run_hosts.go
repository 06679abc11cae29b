package client

import "slices"

// What a run makes of VM hosts is told to the VMs on them, and what it makes of
// VMs to their hosts: either may be planned first.

// NoteLeaving notes that the plan destroys a VM host, or replaces it.
func (r *Run) NoteLeaving(machine string, replaced bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving == nil {
		r.leaving = map[string]bool{}
	}
	r.leaving[machine] = replaced
}

// hostLeaves tells whether the plan destroys or replaces the VM host on a machine.
func (r *Run) hostLeaves(machine string) (leaves, replaced bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	replaced, leaves = r.leaving[machine]
	return leaves && machine != "", replaced
}

// NoteStaying notes that the plan leaves a VM where it is.
func (r *Run) NoteStaying(machine, vm string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.staying == nil {
		r.staying = map[string][]string{}
	}
	if machine != "" && !slices.Contains(r.staying[machine], vm) {
		r.staying[machine] = append(r.staying[machine], vm)
	}
}

// NoteGoing takes that back: the VM is replaced after all.
func (r *Run) NoteGoing(machine, vm string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := slices.Index(r.staying[machine], vm); n >= 0 {
		r.staying[machine] = slices.Delete(r.staying[machine], n, n+1)
	}
}

// VMsStayingOn lists the VMs that the plan leaves on a machine, as far as they are
// planned.
func (r *Run) VMsStayingOn(machine string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.staying[machine])
}

// NoteRenamed notes what the VM host on a machine is called from now on.
func (r *Run) NoteRenamed(machine, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.renamed == nil {
		r.renamed = map[string]string{}
	}
	r.renamed[machine] = name
}

// RenamedTo is the name that the plan gives to the VM host on a machine; empty: it is
// not renamed.
func (c *Client) RenamedTo(machine string) string {
	if c == nil || machine == "" {
		return ""
	}
	return c.Run.renamedTo(machine)
}

// HostLeaves tells whether the plan destroys or replaces the VM host on a machine.
func (c *Client) HostLeaves(machine string) (leaves, replaced bool) {
	if c == nil {
		return false, false
	}
	return c.Run.hostLeaves(machine)
}

// renamedTo is the name that the plan gives to the VM host on a machine; empty:
// it is not renamed.
func (r *Run) renamedTo(machine string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renamed[machine]
}
