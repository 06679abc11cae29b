package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
)

// Credentials are a MAAS, and a user's key by which it is asked.
type Credentials struct {
	Endpoint string
	APIKey   string `json:"-"`
	CABundle string // PEM; empty: the system's authorities
	// AllowTakeOver lets clusters have machines that were not made for them.
	AllowTakeOver bool
	// Limits say what of MAAS clusters may use.
	Limits infrav1.IdentityLimits
	// OfTenant tells that a tenant named the MAAS: it is given no key of the fleet.
	OfTenant bool

	// EndpointFrom and KeyFrom say for people where the two were found.
	EndpointFrom string
	KeyFrom      string
}

// String leaves the key out.
func (c Credentials) String() string { return c.Endpoint + " by the key of " + c.KeyFrom }

// GoString leaves the key out, too.
func (c Credentials) GoString() string { return c.String() }

// digest tells credentials apart without showing them. Where they were found makes
// no difference.
func (c Credentials) digest(more ...string) string {
	h := sha256.New()
	for _, part := range append([]string{c.Endpoint, c.APIKey, c.CABundle, fmt.Sprint(c.AllowTakeOver, c.OfTenant), fmt.Sprintf("%q", c.Limits)}, more...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// missingCredentialsError says what is not there, and how to give it.
func missingCredentialsError(hint, format string, args ...any) error {
	return &controller.CredentialsError{Reason: infrav1.CredentialsNotFoundReason, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// deniedError says what may not be used.
func deniedError(hint, format string, args ...any) error {
	return &controller.CredentialsError{Reason: infrav1.IdentityNotAllowedReason, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// unusableError says what is there, and cannot be meant.
func unusableError(hint, format string, args ...any) error {
	return &controller.CredentialsError{Reason: infrav1.InvalidSpecReason, Message: fmt.Sprintf(format, args...), Hint: hint}
}
