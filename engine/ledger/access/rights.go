// Package access decides who may use the ledger service, and for what. It keeps
// the authority that signs certificates, and a register of the clients. Both
// are files beside the ledger. Each request checks whether the file of its
// client has changed. So a revoked client is refused from its next request on.
package access

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Wildcard means all regions, or all prefixes.
const Wildcard = "*"

// Rights are the rights of a client.
type Rights struct {
	// Regions are the MAASes that the client may use: the mark or the address
	// of each, or Wildcard. The client reads all reservations in them, and
	// closes VM hosts there.
	Regions []string
	// Prefix begins all keys whose rows the client may write: "ci/" covers all
	// VMs of the owner ci. Empty means no key, Wildcard all.
	Prefix string
}

// MayUse reports whether the client may read a region.
func (r Rights) MayUse(region string) bool {
	return slices.Contains(r.Regions, Wildcard) || slices.Contains(r.Regions, region)
}

// MayWrite reports whether the client may write the row of a key.
func (r Rights) MayWrite(key engine.Key) bool {
	return r.Prefix == Wildcard || r.Prefix != "" && strings.HasPrefix(string(key), r.Prefix)
}

// KeyPrefix returns the prefix of the keys that the client may write.
func (r Rights) KeyPrefix() string {
	if r.Prefix == Wildcard {
		return ""
	}
	return r.Prefix
}

// OwnerPrefix returns the prefix of all keys of an owner.
func OwnerPrefix(owner string) string {
	if owner == Wildcard || owner == "" || strings.HasSuffix(owner, "/") {
		return owner
	}
	return owner + "/"
}

// IsMAASAddress tells the address or URL of a MAAS from the mark of a region, which has only
// letters and digits.
func IsMAASAddress(region string) bool { return strings.ContainsAny(region, ".:/") }

// Client is a registered client of the service.
type Client struct {
	Name string
	Rights
	Fingerprint string // of the certificate: its SHA-256, in hex
	Expires     time.Time
	Added       time.Time
	Revoked     time.Time // zero: the client may use the service
}

var clientNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
