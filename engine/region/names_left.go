package region

import (
	"maps"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// NamesLeft are the VMs, machines and hosts of one MAAS that this process renames or
// deletes: their names are about to be free. A host's name here is its key. A machine has
// two: its hostname, and its key, which is left by KeyID. Terraform does all of that side by
// side, e.g. where two VMs swap their names, or the first line of a list goes.
//
// Only those who wait for hostnames wait in circles, and park: MAAS admits a hostname once.
// It admits two VM hosts of one name, so that hosts which swap their names wait for nobody.
type NamesLeft struct {
	mu      sync.Mutex
	leaving map[string]leavingName   // by system id
	asked   map[engine.Key]askedName // of the keys that wait for a name which nobody leaves
	ended   time.Time                // when the last VM got its name, was deleted, or gave up
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
	leavingAgain = 2 * engine.LookAgain
	nameGrace    = 30 * time.Second
	NameLook     = time.Second
	parkAfter    = 5 * time.Second
)

// KeyID stands for the system id of a machine that leaves its key. It may leave its hostname
// at the same time.
func KeyID(systemID string) string { return "key of " + systemID }

func newNamesLeft() *NamesLeft {
	return &NamesLeft{leaving: map[string]leavingName{}, asked: map[engine.Key]askedName{}}
}

// BeginLeave notes that an object leaves its name, for another one or, where to is empty,
// because it is deleted.
func (n *NamesLeft) BeginLeave(systemID, name, to string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.leaving, func(_ string, l leavingName) bool { return now.Sub(l.noted) >= leavingAgain }) // of steps that failed
	former, since := name, now
	if l, leaving := n.leaving[systemID]; leaving && l.to == to {
		former, since = l.former, l.since
	}
	n.leaving[systemID] = leavingName{name, to, former, since, now}
}

// EndLeave ends the leave of a VM, and what its key waited for.
func (n *NamesLeft) EndLeave(systemID string, key engine.Key, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.leaving, systemID)
	delete(n.asked, key)
	n.ended = now
}

// IsDeleting tells whether this process is deleting a VM.
func (n *NamesLeft) IsDeleting(systemID string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, leaving := n.leaving[systemID]
	return leaving && l.to == "" && now.Sub(l.noted) < leavingAgain
}

// IsRenaming tells whether this process gives a VM another name than this one. The VM may
// have its parking name by now, and still the mark and the row of its former one.
func (n *NamesLeft) IsRenaming(systemID, name string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, leaving := n.leaving[systemID]
	return leaving && l.to != "" && l.to != name && now.Sub(l.noted) < leavingAgain
}

// Leaver finds the VM that is about to leave a name.
func (n *NamesLeft) Leaver(name string, now time.Time) (systemID string, found bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leaverOf(name, now)
}

func (n *NamesLeft) leaverOf(name string, now time.Time) (string, bool) {
	for id, l := range n.leaving {
		if l.name == name && now.Sub(l.noted) < leavingAgain {
			return id, true
		}
	}
	return "", false
}

// breaksCycle tells whether VMs wait for each other's names in a circle, and this
// one is the first of them by its system id.
func (n *NamesLeft) breaksCycle(systemID string, now time.Time) bool {
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

// MustPark tells whether a VM that waits for a name has to give up its former one:
// it breaks a circle, or it has waited for long. In a long list the VM that has the
// wanted name has not begun, because those who wait have all of Terraform's slots.
func (n *NamesLeft) MustPark(systemID string, now time.Time) bool {
	if n.breaksCycle(systemID, now) {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Sub(n.leaving[systemID].since) >= parkAfter
}

// FormerOfLast is the name that a VM had at first, where no other VM of this process is
// on its way to another name; else it is empty, because one of them may want that name.
func (n *NamesLeft) FormerOfLast(systemID string, now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, l := range n.leaving {
		if id != systemID && now.Sub(l.noted) < leavingAgain {
			return ""
		}
	}
	return n.leaving[systemID].former
}

// KeepWaiting tells whether a key may wait on for a name that nobody leaves.
func (n *NamesLeft) KeepWaiting(key engine.Key, now time.Time) bool {
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
