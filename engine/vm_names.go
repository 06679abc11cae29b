package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// namesLeft are the VMs of one MAAS that this process renames or deletes: their
// names are about to be free. Terraform does all of that side by side, e.g. where
// two VMs swap their names, or the first line of a list goes.
type namesLeft struct {
	mu      sync.Mutex
	leaving map[string]leavingName // by system id
	asked   map[Key]askedName      // of the keys that wait for a name which nobody leaves
	ended   time.Time              // when the last VM got its name, was deleted, or gave up
}

// leavingName is a VM on its way to another name; to is empty where it is deleted.
type leavingName struct {
	name, to     string
	former       string    // its name at its first step
	since, noted time.Time // its first step and its last
}

// askedName is a wait for a name that nobody leaves: its first look and its last.
type askedName struct{ first, last time.Time }

// A step that leaves a name is repeated within leavingAgain, or has ended.
// nameGrace is how long a name is waited for that a VM of the same owner has and
// that nobody leaves yet: Terraform may come to it soon. It begins anew whenever
// another VM is through, because Terraform then begins the next one.
// parkAfter is how long a VM that waits keeps its former name. Most names are free
// within that time: a rename is one call, and the next look follows in a second.
const (
	leavingAgain = 2 * lookAgain
	nameGrace    = 30 * time.Second
	nameLook     = time.Second
	parkAfter    = 5 * time.Second
)

func newNamesLeft() *namesLeft {
	return &namesLeft{leaving: map[string]leavingName{}, asked: map[Key]askedName{}}
}

func (n *namesLeft) leave(systemID, name, to string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.leaving, func(_ string, l leavingName) bool { return now.Sub(l.noted) >= leavingAgain }) // of steps that failed
	former, since := name, now
	if l, leaving := n.leaving[systemID]; leaving && l.to == to {
		former, since = l.former, l.since
	}
	n.leaving[systemID] = leavingName{name, to, former, since, now}
}

// left ends the leave of a VM, and what its key waited for.
func (n *namesLeft) left(systemID string, key Key, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.leaving, systemID)
	delete(n.asked, key)
	n.ended = now
}

// deletes tells whether this process is deleting a VM.
func (n *namesLeft) deletes(systemID string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, leaving := n.leaving[systemID]
	return leaving && l.to == "" && now.Sub(l.noted) < leavingAgain
}

// renames tells whether this process gives a VM another name than this one. The VM may
// have its parking name by now, and still the mark and the row of its former one.
func (n *namesLeft) renames(systemID, name string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, leaving := n.leaving[systemID]
	return leaving && l.to != "" && l.to != name && now.Sub(l.noted) < leavingAgain
}

// leaver finds the VM that is about to leave a name.
func (n *namesLeft) leaver(name string, now time.Time) (systemID string, found bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leaverOf(name, now)
}

func (n *namesLeft) leaverOf(name string, now time.Time) (string, bool) {
	for id, l := range n.leaving {
		if l.name == name && now.Sub(l.noted) < leavingAgain {
			return id, true
		}
	}
	return "", false
}

// breaksCycle tells whether VMs wait for each other's names in a circle, and this
// one is the first of them by its system id.
func (n *namesLeft) breaksCycle(systemID string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for at, met := systemID, 0; met <= len(n.leaving); met++ {
		next, found := n.leaverOf(n.leaving[at].to, now)
		switch {
		case !found || n.leaving[at].to == "", next != systemID && next < systemID:
			return false
		case next == systemID:
			return true
		}
		at = next
	}
	return false
}

// mustPark tells whether a VM that waits for a name has to give up its former one:
// it breaks a circle, or it has waited for long. In a long list the VM that has the
// wanted name has not begun, because those who wait have all of Terraform's slots.
func (n *namesLeft) mustPark(systemID string, now time.Time) bool {
	if n.breaksCycle(systemID, now) {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Sub(n.leaving[systemID].since) >= parkAfter
}

// formerOfLast is the name that a VM had at first, where no other VM of this process is
// on its way to another name; else it is empty, because one of them may want that name.
func (n *namesLeft) formerOfLast(systemID string, now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, l := range n.leaving {
		if id != systemID && now.Sub(l.noted) < leavingAgain {
			return ""
		}
	}
	return n.leaving[systemID].former
}

// patient tells whether a key may wait on for a name that nobody leaves.
func (n *namesLeft) patient(key Key, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.asked[key]
	if now.Sub(asked.last) >= leavingAgain { // or it has waited for another name
		asked.first = now
	}
	asked.last = now
	n.asked[key] = asked
	if now.Sub(asked.first) < nameGrace || now.Sub(n.ended) < nameGrace {
		return true
	}
	delete(n.asked, key)
	n.ended = now // others that wait may do with the slot that this one gives back
	return false
}

// nameWait says that a name will be free soon. It ends a step, and is no failure.
type nameWait struct{ message string }

func (w *nameWait) Error() string { return w.message }

// sameOwner tells whether a VM carries the mark of the owner that a key is of.
func sameOwner(m Machine, key Key) bool {
	of, _, ok := strings.Cut(string(key), "/")
	has, _, marked := strings.Cut(string(m.MarkedBy()), "/")
	return ok && marked && of == has
}

// waitForName waits for a name that another VM has, as long as that one is likely
// to leave it: then the error is a *nameWait. It is nil where nobody will.
func (v *vms) waitForName(key Key, want VMSpec, holder Machine) error {
	if !want.AwaitName {
		return nil
	}
	wait := &nameWait{fmt.Sprintf("the name %s is that of %s (%s), which is being renamed or deleted", want.Name, holder.SystemID, holder.StatusName)}
	if _, leaving := v.names.leaver(want.Name, v.Now()); leaving || v.names.renames(holder.SystemID, want.Name, v.Now()) {
		return wait
	}
	if sameOwner(holder, key) && v.names.patient(key, v.Now()) {
		return wait
	}
	return nil
}

// rename changes a VM whose hostname is to be another one. It waits for a VM that
// has this name. A wait that is long, or goes round in a circle, could be without
// end: then the VM takes its parking name, so that its former one is free.
func (v *vms) rename(ctx context.Context, key Key, want VMSpec, m Machine, u MachineUpdate) error {
	v.names.leave(m.SystemID, m.Hostname, want.Name, v.Now())
	err := v.takeName(ctx, key, want, m, u)
	_, waits := errors.AsType[*nameWait](err)
	switch {
	case !waits:
		former := v.names.formerOfLast(m.SystemID, v.Now())
		v.names.left(m.SystemID, key, v.Now())
		if err != nil && m.isParked() && former != "" && former != m.Hostname {
			v.unpark(ctx, m, former)
		}
	case !m.isParked() && v.names.mustPark(m.SystemID, v.Now()):
		return v.park(ctx, want, m)
	}
	return err
}

// takeName sends the change, unless the VM that has the name is about to leave it.
func (v *vms) takeName(ctx context.Context, key Key, want VMSpec, m Machine, u MachineUpdate) error {
	if id, leaving := v.names.leaver(want.Name, v.Now()); leaving && want.AwaitName && id != m.SystemID {
		return &nameWait{fmt.Sprintf("the name %s is that of %s, which is being renamed or deleted", want.Name, id)}
	}
	err := v.Machines.Update(ctx, m.SystemID, u)
	var refusal FieldError
	if errors.As(err, &refusal) && len(refusal.Fields()["hostname"]) > 0 {
		return v.nameRefused(ctx, key, want, m, err)
	}
	return err
}

// parkingName is a name that no other VM wants.
func (m Machine) parkingName() string { return markerPrefix + m.SystemID }

func (m Machine) isParked() bool { return m.Hostname == m.parkingName() }

// park gives a VM its parking name. The mark stays, and the name is no wanted one, so
// that a run which ends here leaves a VM that the next plan finds and renames.
func (v *vms) park(ctx context.Context, want VMSpec, m Machine) error {
	parked, noted := m.parkingName(), noteInstance(m.Description, m.Hostname)
	if err := v.Machines.Update(ctx, m.SystemID, MachineUpdate{Hostname: &parked, Description: &noted}); err != nil {
		return err
	}
	v.Log.InfoContext(ctx, "renamed VM for the time until its name is free", "name", parked, "wanted", want.Name, "system_id", m.SystemID)
	v.names.leave(m.SystemID, parked, want.Name, v.Now())
	return &nameWait{fmt.Sprintf("%s is called %s until %s is free", m.Hostname, parked, want.Name)}
}

// unpark gives a VM that waits in vain its former name back: nobody else wants it. Where
// that fails, the VM keeps its parking name, and the error tells it.
func (v *vms) unpark(ctx context.Context, m Machine, former string) {
	if err := v.Machines.Update(ctx, m.SystemID, MachineUpdate{Hostname: &former}); err != nil {
		v.Log.WarnContext(ctx, "cannot give a VM its former name back", "name", m.Hostname, "former", former, "error", err.Error())
	}
}

// nameRefused says what comes of a hostname that MAAS has refused.
func (v *vms) nameRefused(ctx context.Context, key Key, want VMSpec, m Machine, refusal error) error {
	named, err := v.Machines.MachinesNamed(ctx, want.Name)
	if err != nil {
		return err
	}
	for _, holder := range named {
		if holder.SystemID == m.SystemID {
			continue
		}
		if wait := v.waitForName(key, want, holder); wait != nil {
			return wait
		}
		return nameTakenError(want, m, holder)
	}
	if want.AwaitName && v.names.patient(key, v.Now()) { // it was left a moment ago
		return &nameWait{fmt.Sprintf("the name %s was that of another machine until now", want.Name)}
	}
	return refusal
}

// nameTakenError says what to do where nobody leaves a name.
func nameTakenError(want VMSpec, m, holder Machine) *SpecError {
	hint := "If that machine is to be renamed or deleted as well, apply again once that is done. Otherwise choose another name."
	if m.isParked() {
		hint += fmt.Sprintf(" While others wait for names, the VM is called %s.", m.Hostname)
	}
	return &SpecError{
		Field: "name", Err: ErrConflict, Hint: hint,
		Message: fmt.Sprintf("MAAS has a machine %s already (system id %s, %s)", want.Name, holder.SystemID, holder.StatusName),
	}
}

// rekey gives the row of a VM that was renamed to its new key.
func (v *vms) rekey(ctx context.Context, ref Ref, group string, m Machine) error {
	if ref.NewKey == "" || ref.NewKey == ref.Key {
		return nil
	}
	former, err := v.row(ctx, ref.Key)
	if err != nil {
		return err
	}
	if err := v.bind(ctx, ref.NewKey, group, m); err != nil || former.SystemID != m.SystemID {
		return err
	}
	return v.Ledger.Drop(ctx, former)
}

// freeName drops the row of a key whose VM has another mark by now: the key's name is
// free for another VM.
func (v *vms) freeName(ctx context.Context, key Key, m Machine) error {
	row, err := v.row(ctx, key)
	if err != nil || row.Key == "" || row.SystemID != m.SystemID {
		return err
	}
	return v.Ledger.Drop(ctx, row)
}
