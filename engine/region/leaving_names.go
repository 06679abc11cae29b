package region

import (
	"maps"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// LeavingNames are the VMs, machines and hosts of one MAAS that this process renames or
// deletes: their names are about to be free. Terraform does all of that side by side, for
// example when two VMs swap their names, or when the first item of a list is removed.
//
// A host's name here is its key. A machine has two names: its hostname, and its key, which it
// leaves under KeyLeaveID.
//
// Waits in a circle occur only for hostnames, as MAAS allows a hostname once; then one of them
// takes a temporary name. MAAS allows two VM hosts of one name, so hosts that swap their names
// wait for nobody.
type LeavingNames struct {
	mu      sync.Mutex
	leaving map[string]leavingName     // by system id
	awaited map[engine.Key]awaitedName // by the keys that wait for a name that nobody leaves
	gaveUp  map[string]string          // former names of VMs that gave up under a temporary name, by system id
	lastEnd time.Time                  // when the last VM got its name, was deleted, or gave up
}

// leavingName is an object on its way to another name; to is empty if it is being deleted.
type leavingName struct {
	name, to     string
	former       string    // its name at its first step
	since, noted time.Time // its first step and its last
}

// awaitedName is a wait for a name that nobody leaves: its first look and its last.
type awaitedName struct{ first, last time.Time }

// A step that leaves a name is repeated within leaveTTL, or has ended.
//
// nameGracePeriod is how long to wait for a name that a VM of the same owner has and that
// nobody leaves yet: Terraform may come to that VM soon. It begins anew whenever another VM is
// done, because Terraform then begins the next one.
//
// temporaryNameDelay is how long a waiting VM keeps its former name. Most names are free within
// that time: a rename is one call, and the next look follows in a second.
const (
	leaveTTL           = 2 * engine.FallbackPollInterval
	nameGracePeriod    = 30 * time.Second
	NamePollInterval   = time.Second
	temporaryNameDelay = 5 * time.Second
)

// KeyLeaveID stands for the system id of a machine that leaves its key. The machine may leave
// its hostname at the same time.
func KeyLeaveID(systemID string) string { return "key of " + systemID }

func newLeavingNames() *LeavingNames {
	return &LeavingNames{leaving: map[string]leavingName{}, awaited: map[engine.Key]awaitedName{}, gaveUp: map[string]string{}}
}

// NoteLeaving notes that an object leaves its name for another one. An empty to means that it
// is being deleted.
func (n *LeavingNames) NoteLeaving(systemID, name, to string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.leaving, func(_ string, l leavingName) bool { return now.Sub(l.noted) >= leaveTTL }) // their steps failed
	former, since := name, now
	if gaveUp := n.gaveUp[systemID]; gaveUp != "" { // it tries again
		former = gaveUp
		delete(n.gaveUp, systemID)
	}
	if l, leaving := n.leaving[systemID]; leaving && l.to == to {
		former, since = l.former, l.since
	}
	n.leaving[systemID] = leavingName{name, to, former, since, now}
}

// NoteLeft ends the leave of a VM, and the wait of its key.
func (n *LeavingNames) NoteLeft(systemID string, key engine.Key, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.leaving, systemID)
	delete(n.awaited, key)
	n.lastEnd = now
}

// IsDeleting tells whether this process is deleting a VM.
func (n *LeavingNames) IsDeleting(systemID string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, leaving := n.leaving[systemID]
	return leaving && l.to == "" && now.Sub(l.noted) < leaveTTL
}

// IsRenaming tells whether this process gives a VM another name than this one. The VM may have
// its temporary name already, and still the mark and the row of its former one.
func (n *LeavingNames) IsRenaming(systemID, name string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, leaving := n.leaving[systemID]
	return leaving && l.to != "" && l.to != name && now.Sub(l.noted) < leaveTTL
}

// FindLeaver finds the VM that is about to leave a name.
func (n *LeavingNames) FindLeaver(name string, now time.Time) (systemID string, found bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leaverOf(name, now)
}

func (n *LeavingNames) leaverOf(name string, now time.Time) (string, bool) {
	for id, l := range n.leaving {
		if l.name == name && now.Sub(l.noted) < leaveTTL {
			return id, true
		}
	}
	return "", false
}

// breaksCycle tells whether VMs wait for each other's names in a circle, and this VM is the
// first of them by its system id.
func (n *LeavingNames) breaksCycle(systemID string, now time.Time) bool {
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

// NeedsTemporaryName tells whether a VM that waits for a name must give up its former one. It
// must if it breaks a circle, or if it has waited for long. In a long list, the VM with the
// wanted name may not have begun, because the waiting ones take all of Terraform's slots.
func (n *LeavingNames) NeedsTemporaryName(systemID string, now time.Time) bool {
	if n.breaksCycle(systemID, now) {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Sub(n.leaving[systemID].since) >= temporaryNameDelay
}

// FormerName is the name of a VM at the first step of its rename; empty: it is on no way.
func (n *LeavingNames) FormerName(systemID string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leaving[systemID].former
}

// NoteGaveUp ends the rename of a VM that waited in vain, and now has a temporary name. It is to
// get its former name back.
func (n *LeavingNames) NoteGaveUp(systemID, former string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.leaving, systemID)
	n.gaveUp[systemID] = former
}

// TakeGivenUp returns, once, the former names of the VMs that gave up, by system id. There are
// none while another VM of this process is on its way to another name, as it may want one of
// them.
func (n *LeavingNames) TakeGivenUp(now time.Time) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.leaving {
		if l.to != "" && now.Sub(l.noted) < leaveTTL {
			return nil
		}
	}
	taken := n.gaveUp
	n.gaveUp = map[string]string{}
	return taken
}

// CountWait tells whether a key may continue to wait for a name that nobody leaves.
func (n *LeavingNames) CountWait(key engine.Key, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.awaited[key]
	if now.Sub(asked.last) >= leaveTTL { // or it has waited for another name
		asked.first = now
	}
	asked.last = now
	n.awaited[key] = asked
	if now.Sub(asked.first) < nameGracePeriod || now.Sub(n.lastEnd) < nameGracePeriod {
		return true
	}
	delete(n.awaited, key)
	n.lastEnd = now // the others may use the slot that becomes free here
	return false
}
