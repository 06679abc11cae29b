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
}

// leavingName is a VM on its way to another name; to is empty where it is deleted.
type leavingName struct {
	name, to string
	noted    time.Time
}

// askedName is a wait for a name that nobody leaves: its first look and its last.
type askedName struct{ first, last time.Time }

// A step that leaves a name is repeated within leavingAgain, or has ended.
// nameGrace is how long a name is waited for that a VM of the same owner has and
// that nobody leaves yet: Terraform may come to it soon.
const (
	leavingAgain = 2 * lookAgain
	nameGrace    = 30 * time.Second
	nameLook     = time.Second
)

func newNamesLeft() *namesLeft {
	return &namesLeft{leaving: map[string]leavingName{}, asked: map[Key]askedName{}}
}

func (n *namesLeft) leave(systemID, name, to string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.leaving, func(_ string, l leavingName) bool { return now.Sub(l.noted) >= leavingAgain }) // of steps that failed
	n.leaving[systemID] = leavingName{name, to, now}
}

// left ends the leave of a VM, and what its key waited for.
func (n *namesLeft) left(systemID string, key Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.leaving, systemID)
	delete(n.asked, key)
}

// deletes tells whether this process is deleting a VM.
func (n *namesLeft) deletes(systemID string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, leaving := n.leaving[systemID]
	return leaving && l.to == "" && now.Sub(l.noted) < leavingAgain
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
	if now.Sub(asked.first) < nameGrace {
		return true
	}
	delete(n.asked, key)
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
	if _, leaving := v.names.leaver(want.Name, v.Now()); leaving {
		return wait
	}
	if sameOwner(holder, key) && v.names.patient(key, v.Now()) {
		return wait
	}
	return nil
}

// rename changes a VM whose hostname is to be another one. It waits for a VM that
// leaves this name. Where VMs wait for each other in a circle, one of them gets a
// name for the time between: it is its own, so that a run which dies there leaves
// a VM that the next plan renames.
func (v *vms) rename(ctx context.Context, key Key, want VMSpec, m Machine, u MachineUpdate) error {
	v.names.leave(m.SystemID, m.Hostname, want.Name, v.Now())
	if id, leaving := v.names.leaver(want.Name, v.Now()); leaving && want.AwaitName && id != m.SystemID {
		if !v.names.breaksCycle(m.SystemID, v.Now()) {
			return &nameWait{fmt.Sprintf("the name %s is that of %s, which is being renamed or deleted", want.Name, id)}
		}
		between, noted := markerPrefix+m.SystemID, noteInstance(m.Description, m.Hostname)
		if m.Hostname != between {
			if err := v.Machines.Update(ctx, m.SystemID, MachineUpdate{Hostname: &between, Description: &noted}); err != nil {
				return err
			}
			v.Log.InfoContext(ctx, "renamed VM for the time until its name is free", "name", between, "wanted", want.Name, "system_id", m.SystemID)
		}
		v.names.leave(m.SystemID, between, want.Name, v.Now())
		return &nameWait{fmt.Sprintf("%s is called %s until %s is free", m.Hostname, between, want.Name)}
	}
	err := v.Machines.Update(ctx, m.SystemID, u)
	var refusal FieldError
	if errors.As(err, &refusal) && len(refusal.Fields()["hostname"]) > 0 {
		err = v.nameRefused(ctx, key, want, m, err)
	}
	if _, waits := errors.AsType[*nameWait](err); !waits {
		v.names.left(m.SystemID, key)
	}
	return err
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
		return &SpecError{
			Field: "name", Err: ErrConflict,
			Message: fmt.Sprintf("MAAS has a machine %s already (system id %s, %s)", want.Name, holder.SystemID, holder.StatusName),
			Hint:    "Choose another name. If that machine is to be renamed or deleted as well, do it first, and then apply again.",
		}
	}
	if want.AwaitName && v.names.patient(key, v.Now()) { // it was left a moment ago
		return &nameWait{fmt.Sprintf("the name %s was that of another machine until now", want.Name)}
	}
	return refusal
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
