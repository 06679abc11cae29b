package engine

import (
	"crypto/rand"
	"sync"
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
