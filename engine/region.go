package engine

import (
	"crypto/rand"
	"sync"
	"time"
)

// Region is what the engines of one MAAS share in a process, where several ask it
// by keys of their own: which hosts are composed on, and which fixed addresses are
// meant for what is being made. It names objects by Key, which must be unique among
// them, as it must in their Ledger.
type Region struct {
	locks  *hostLocks
	claims *claims
	names  *namesLeft
	sent   *sync.Map // token of a row to when this process sent its compose, by a clock that nobody sets
	holder string    // of the hosts that these engines close in the ledger
}

// NewRegion returns a Region in which nothing is under way.
func NewRegion() *Region {
	return &Region{locks: newHostLocks(), claims: newClaims(), names: newNamesLeft(), sent: new(sync.Map), holder: rand.Text()}
}

// noteSent notes that a compose is sent for a row now. Those that cannot bear fruit any
// more are forgotten: a process that lives for months sends many, and loses some.
func (r *Region) noteSent(token string, window time.Duration) {
	now := time.Now()
	r.sent.Range(func(former, sent any) bool {
		if now.Sub(sent.(time.Time)) >= window {
			r.sent.Delete(former)
		}
		return true
	})
	r.sent.Store(token, now)
}
