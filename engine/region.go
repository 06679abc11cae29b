package engine

// Region is what the engines of one MAAS share in a process, where several ask it
// by keys of their own: which hosts are composed on, and which fixed addresses are
// meant for what is being made. It names objects by Key, which must be unique among
// them, as it must in their Ledger.
type Region struct {
	locks  *hostLocks
	claims *claims
}

// NewRegion returns a Region in which nothing is under way.
func NewRegion() *Region { return &Region{locks: newHostLocks(), claims: newClaims()} }
