package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
)

// Credentials are the address of a MAAS and a user's API key.
type Credentials struct {
	Endpoint string
	APIKey   string `json:"-"`
	CABundle string // PEM; empty: the system's authorities
	// AllowTakeOver lets clusters take machines that were not made for them.
	AllowTakeOver bool
	// Limits restrict what clusters may use of MAAS.
	Limits infrav1.IdentityLimits
	// OfTenant is true where a tenant named the MAAS. We give it no key of the
	// fleet.
	OfTenant bool

	// EndpointFrom and KeyFrom name for users the objects that hold the two.
	EndpointFrom string
	KeyFrom      string
}

// String leaves the key out.
func (c Credentials) String() string { return c.Endpoint + " by the key of " + c.KeyFrom }

// GoString leaves the key out, too.
func (c Credentials) GoString() string { return c.String() }

// digest identifies credentials without showing them. The objects that hold
// them make no difference.
func (c Credentials) digest(more ...string) string {
	h := sha256.New()
	for _, part := range append([]string{c.Endpoint, c.APIKey, c.CABundle, fmt.Sprint(c.AllowTakeOver, c.OfTenant), fmt.Sprintf("%q", c.Limits)}, more...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// missingCredentialsError says what is missing, and how to add it.
func missingCredentialsError(hint, format string, args ...any) error {
	return &controller.CredentialsError{Reason: infrav1.CredentialsNotFoundReason, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// deniedError says what the cluster or the manager may not use.
func deniedError(hint, format string, args ...any) error {
	return &controller.CredentialsError{Reason: infrav1.IdentityNotAllowedReason, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// unusableError says which value exists but is invalid.
func unusableError(hint, format string, args ...any) error {
	return &controller.CredentialsError{Reason: infrav1.InvalidSpecReason, Message: fmt.Sprintf(format, args...), Hint: hint}
}
