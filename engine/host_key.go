package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
)

// fingerprintData is the owner data by which a host's machine says which client
// certificate its LXD was made to trust.
const fingerprintData = "maaslxd-fingerprint"

// TrustedFingerprint is that of the client certificate which the LXD of the machine
// was made to trust, as it says itself; empty: it does not.
func (m Machine) TrustedFingerprint() string { return m.OwnerData[fingerprintData] }

// Fingerprint is the SHA-256 of the certificate, in hex, as LXD names it. It is
// empty for what is no PEM.
func (c Credentials) Fingerprint() string {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

// String names the certificate. The key is never printed, by whatever verb or
// handler: specs end up in logs and messages.
func (c Credentials) String() string {
	if f := c.Fingerprint(); f != "" {
		return "certificate " + f
	}
	return "no certificate"
}

// Format implements fmt.Formatter, for all verbs and flags.
func (c Credentials) Format(f fmt.State, _ rune) {
	io.WriteString(f, c.String()) //nolint:errcheck // a Formatter has nowhere to report to
}

// LogValue implements slog.LogValuer.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// untrusted says that an LXD which runs already lets nobody in with the
// certificate: nothing that goes on there will change that.
func (want HostSpec) untrusted(e Endpoint, cause error) error {
	return &Error{
		Type: HostUnavailable, Host: want.Name, Err: cause,
		Message: fmt.Sprintf("the LXD at %s does not trust the client certificate %s", e.Address, want.Credentials.Fingerprint()),
		Hint:    fmt.Sprintf("Make it trust the certificate: lxc config trust add FILE.crt --restricted --projects %s", want.Project),
	}
}

// trusts refuses to register a machine that was deployed with another
// certificate than the one at hand: its LXD would let nobody in.
func (want HostSpec) trusts(m Machine) error {
	noted, atHand := m.OwnerData[fingerprintData], want.Credentials.Fingerprint()
	if noted == "" || noted == atHand {
		return nil
	}
	for _, certificate := range want.LXD.TrustedCertificates { // a rotation: it was made to trust both
		if (Credentials{Certificate: certificate}).Fingerprint() == noted {
			return nil
		}
	}
	return &Refusal{
		Message: fmt.Sprintf("machine %s was deployed to trust the client certificate %s, and the one at hand is %s", m.Hostname, noted, atHand),
		Hint:    "Give the pair with which it was deployed; if that is lost, release the machine and deploy it anew.", Err: ErrForbidden,
	}
}

// handOver gives MAAS the credentials at hand where the VM host was registered
// with others, and notes them on its machine. That the LXD trusts them is for
// the caller to know.
func (h *hosts) handOver(ctx context.Context, want HostSpec, record VMHost, m Machine) (Machine, error) {
	noted, atHand := m.OwnerData[fingerprintData], want.Credentials.Fingerprint()
	if atHand == "" {
		return m, nil // nobody has told the pair
	}
	if noted != "" && noted != atHand {
		if err := h.update(ctx, record, HostUpdate{Credentials: &want.Credentials}); err != nil {
			return m, err
		}
	}
	return h.annotate(ctx, m, map[string]string{fingerprintData: atHand})
}
