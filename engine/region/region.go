// Package region is what the engines of one MAAS share in a process: which hosts are
// composed on or closed, which fixed addresses are meant for what is being made, which
// names are about to be free, and which composes were sent.
package region

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Region is what the engines of one MAAS share in a process, where several ask it
// by keys of their own: which hosts are composed on, and which fixed addresses are
// meant for what is being made. It names objects by Key, which must be unique among
// them, as it must in their Ledger.
type Region struct {
	// Locks keep composes on a host and changes of that host apart.
	Locks *HostLocks
	// Claims are the fixed addresses of what is being made.
	Claims *Claims
	// LeavingNames are those of the VMs and hosts that are being renamed or deleted.
	LeavingNames *LeavingNames
	// Failures are those of machines that MAAS gave up.
	Failures *Failures

	composesSent sync.Map // token of a row to when this process sent its compose, by a clock that nobody sets
	holder       string   // of the hosts that these engines close in the ledger
}

// New returns a Region in which nothing is under way.
func New() *Region {
	return &Region{Locks: newHostLocks(), Claims: newClaims(), LeavingNames: newLeavingNames(), Failures: new(Failures), holder: rand.Text()}
}

// NoteComposeSent notes that a compose is sent for a row now. Those that cannot bear fruit any
// more are forgotten: a process that lives for months sends many, and loses some.
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

// ForgetComposeSent forgets the compose of a row that has borne fruit.
func (r *Region) ForgetComposeSent(token string) { r.composesSent.Delete(token) }

// ComposeRemaining says for how long the compose of a row may still bear fruit, out of
// the window that it has. The ledger says how old the row is, so that the clock of this
// machine does not matter. Where the ledger's clock was put forward, that must not make it
// shorter than this process knows it to be.
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
