// Package region holds what the engines of one MAAS share in a process: hosts in use or closed,
// claimed addresses, names about to be free, and sent composes.
package region

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Region is what the engines of one MAAS share in a process, if several use it with keys of
// their own. They share the hosts in use and the claimed addresses. Region names objects by
// Key, which must be unique among the engines, as in their Ledger.
type Region struct {
	// Locks keep composes on a host and changes of that host apart.
	Locks *HostLocks
	// Claims are the fixed addresses of objects that are being made.
	Claims *Claims
	// LeavingNames are the names of VMs and hosts that are being renamed or deleted.
	LeavingNames *LeavingNames
	// Failures are those of machines that failed in MAAS.
	Failures *Failures

	composesSent sync.Map // token of a row to when this process sent its compose, by a monotonic clock
	holder       string   // of the hosts that these engines close in the ledger
}

// New returns a Region in which nothing is in progress.
func New() *Region {
	return &Region{Locks: newHostLocks(), Claims: newClaims(), LeavingNames: newLeavingNames(), Failures: new(Failures), holder: rand.Text()}
}

// NoteComposeSent notes that a compose is sent for a row now. It forgets composes that can no
// longer make a VM: a process that lives for months sends many, and loses some.
func (r *Region) NoteComposeSent(token string, window time.Duration) {
	now := time.Now()
	r.composesSent.Range(func(former, sent any) bool {
		if now.Sub(sent.(time.Time)) >= window {
			r.composesSent.Delete(former)
		}
		return true
	})
	r.composesSent.Store(token, now)
}

// ForgetComposeSent forgets the compose of a row that has made its VM.
func (r *Region) ForgetComposeSent(token string) { r.composesSent.Delete(token) }

// ComposeRemaining says for how long the compose of a row may still make its VM, within the
// given window. The ledger says how old the row is, so the clock of this machine does not
// matter. If the ledger's clock jumps forward, the time that this process measured itself still
// counts.
func (r *Region) ComposeRemaining(row engine.Row, window time.Duration) time.Duration {
	if row.SystemID != "" {
		return 0
	}
	left := window - row.Age
	if sent, ok := r.composesSent.Load(row.Token); ok {
		left = max(left, window-time.Since(sent.(time.Time)))
	}
	return min(window, max(0, left))
}
