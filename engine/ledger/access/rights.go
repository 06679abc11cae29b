// Package access says who may use the service of a ledger, and for what: it keeps the
// authority that signs certificates, and a register of the clients. Both are files
// beside the ledger. Each request looks whether the file of its client has changed, so that one
// that is revoked is refused from its next request on.
package access

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Wildcard is the region, or the prefix, that means all of them.
const Wildcard = "*"

// Rights are what a client may touch.
type Rights struct {
	// Regions are the MAASes: the mark or the address of each, or Any. The client reads
	// all that is reserved in them, and closes VM hosts there.
	Regions []string
	// Prefix is what the keys begin with whose rows the client writes: "ci/" is all that
	// the owner ci makes. Empty means none, and Any all.
	Prefix string
}

// MayUse tells whether the client may read a region.
func (r Rights) MayUse(region string) bool {
	return slices.Contains(r.Regions, Wildcard) || slices.Contains(r.Regions, region)
}

// MayWrite tells whether the client may write the row of a key.
func (r Rights) MayWrite(key engine.Key) bool {
	return r.Prefix == Wildcard || r.Prefix != "" && strings.HasPrefix(string(key), r.Prefix)
}

// KeyPrefix is what the keys begin with that the client may write.
func (r Rights) KeyPrefix() string {
	if r.Prefix == Wildcard {
		return ""
	}
	return r.Prefix
}

// OwnerPrefix is the prefix of all keys of an owner.
func OwnerPrefix(owner string) string {
	if owner == Wildcard || owner == "" || strings.HasSuffix(owner, "/") {
		return owner
	}
	return owner + "/"
}

// Client is one of those who may use the service.
type Client struct {
	Name string
	Rights
	Fingerprint string // of the certificate: its SHA-256, in hex
	Expires     time.Time
	Added       time.Time
	Revoked     time.Time // zero: it may use the service
}

var clientNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
