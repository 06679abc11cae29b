package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// positiveValidator passes numbers above zero.
type positiveValidator struct{}

// Description names the accepted values.
func (positiveValidator) Description(context.Context) string { return "above 0" }

// MarkdownDescription names the accepted values.
func (p positiveValidator) MarkdownDescription(ctx context.Context) string { return p.Description(ctx) }

// ValidateFloat64 refuses zero and less.
func (positiveValidator) ValidateFloat64(_ context.Context, req validator.Float64Request, resp *validator.Float64Response) {
	if v := req.ConfigValue; !v.IsNull() && !v.IsUnknown() && !(v.ValueFloat64() > 0) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+req.Path.String(),
			fmt.Sprintf("%g is not an over-commit ratio: it must be above 0; 1 means no over-commit.", v.ValueFloat64()))
	}
}

// publicCertificateValidator passes one certificate in PEM, and no private key.
func publicCertificateValidator() validator.String {
	return values.StringRule("one certificate in PEM", func(s string) string {
		_, err := fleetkey.TrustedCertificates(time.Now(), s)
		var bad *engine.SpecError
		if errors.As(err, &bad) {
			return "The certificate " + diagnostics.Sentence(bad.Message) + " " + bad.Hint
		}
		if strings.TrimSpace(s) == "" {
			return "It is empty. Give one certificate in PEM."
		}
		return ""
	})
}

// serverFingerprintValidator passes the spelling that LXD uses, so that both can be compared.
func serverFingerprintValidator() validator.String {
	return values.StringRule("a SHA-256 as 64 hex digits in small letters", func(s string) string {
		plain := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
		switch {
		case engine.IsFingerprint(s):
			return ""
		case engine.IsFingerprint(plain):
			return fmt.Sprintf("Write it as LXD does, in small letters and without colons: %q.", plain)
		}
		return fmt.Sprintf("%q is not a SHA-256 fingerprint. Give the 64 hex digits that `lxc info` shows on the host as certificate_fingerprint.", s)
	})
}
