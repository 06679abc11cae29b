// Package fleetkey keeps the client key pair by which the LXD servers of a fleet know their
// manager. LXD identifies the pair by the SHA-256 of its certificate, which no authority signs.
// Each host trusts it from the first boot on.
package fleetkey

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canonical/lxd/shared"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// The settings that give a key pair, as the front ends spell them.
const (
	certField = "lxd_client_cert"
	keyField  = "lxd_client_key"
)

// Key is the client key pair of a fleet. Hosts get only its certificate, which is public.
type Key struct {
	engine.Credentials
	// Fingerprint of the certificate: its SHA-256, in hex.
	Fingerprint string
	// NotAfter is when LXD servers stop accepting it.
	NotAfter time.Time
}

// New makes a pair, as LXD's own client would (ECDSA P-384, self-signed, for 10 years). The
// caller must store it, or it is lost.
func New(now time.Time) (Key, error) {
	certificate, private, err := generatePair()
	if err != nil {
		return Key{}, fmt.Errorf("cannot make a key pair: %w", err)
	}
	return Parse(string(certificate), string(private), now)
}

// generatePair makes a pair in PEM.
func generatePair() (certificate, private []byte, err error) {
	return shared.GenerateMemCert(true, shared.CertOptions{CommonName: programName})
}

// Parse checks a key pair in PEM: one certificate, valid at now, and its private key, not
// encrypted. Both may be the same text, as in a file that holds the pair, such as
// lxd-client.pem. The error is an *engine.SpecError of field lxd_client_cert or lxd_client_key,
// and shows nothing of the key.
func Parse(certificate, key string, now time.Time) (Key, error) {
	for _, half := range []struct{ field, text string }{{certField, certificate}, {keyField, key}} {
		if isOneLine(half.text) {
			return Key{}, fieldError(fieldpath.New(half.field), "holds PEM text without its line breaks", "Keep the line breaks, for example in a secret file or a multi-line variable.")
		}
	}
	if certificate == key {
		certificate, key = splitPEM([]byte(certificate))
	} else if _, private := splitPEM([]byte(certificate)); key == "" && private != "" {
		return Key{}, fieldError(fieldpath.New(keyField), "is not set", "Give the whole file of the pair in both, or each half in its own.")
	}
	public, err := parseCertificate(certificate, now)
	if err != nil {
		return Key{}, err
	}
	private, err := findPrivateKey(key)
	if err != nil {
		return Key{}, err
	}
	k := Key{
		Credentials: engine.Credentials{Certificate: encodeCertificate(public), Key: string(pem.EncodeToMemory(private))},
		Fingerprint: fingerprint(public), NotAfter: public.NotAfter,
	}
	if _, err := tls.X509KeyPair([]byte(k.Certificate), []byte(k.Key)); err != nil {
		return Key{}, fieldError(fieldpath.New(keyField), "is not the private key of the certificate in "+certField, "Give both halves of one pair, in PEM.")
	}
	return k, nil
}

// Fingerprint is the SHA-256, in hex, of a certificate in PEM, by which LXD names it. The error
// is an *engine.SpecError of field lxd_client_cert.
func Fingerprint(certificate string) (string, error) {
	public, err := findCertificate(certificate)
	if err != nil {
		return "", err
	}
	return fingerprint(public), nil
}

// TrustedCertificates lists the public certificates, in PEM, that a host must trust. They are
// the current one, and the next ones, so that the key can change while the host runs. Empty and
// repeated ones are left out.
func TrustedCertificates(now time.Time, current string, next ...string) ([]string, error) {
	var trusted []string
	for _, certificate := range append([]string{current}, next...) {
		if certificate == "" {
			continue
		}
		public, err := parseCertificate(certificate, now)
		if err != nil {
			return nil, err
		}
		if text := encodeCertificate(public); !slices.Contains(trusted, text) {
			trusted = append(trusted, text)
		}
	}
	return trusted, nil
}

// CheckSameKey fails unless the present key is one that a host was made to trust. All are
// fingerprints. A host without a noted fingerprint passes.
func CheckSameKey(atHand string, noted ...string) error {
	noted = slices.DeleteFunc(slices.Clone(noted), func(s string) bool { return s == "" })
	same := func(s string) bool { return NormalFingerprint(s) == NormalFingerprint(atHand) }
	if len(noted) == 0 || slices.ContainsFunc(noted, same) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the LXD client certificate at hand is %s, but the host was made to trust %s", atHand, strings.Join(noted, ", ")),
		Hint: fmt.Sprintf("If you are changing the pair, or have lost the former one, trust the certificate at hand on the host (lxc config trust add FILE --restricted --projects PROJECT). "+
			"Then list it in lxd.trusted_certificates. Otherwise give the pair that the host trusts as %s and %s, or use the ledger beside which it was made.", certField, keyField),
		Err: engine.ErrForbidden,
	}
}

// NormalFingerprint is a fingerprint in lower case and without colons: OpenSSL writes it in
// another way.
func NormalFingerprint(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
}

func fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}

func encodeCertificate(certificate *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: certificate.Raw}))
}

func fieldError(field fieldpath.Path, message, hint string) error {
	return &engine.SpecError{Field: field, Message: message, Hint: hint, Err: engine.ErrInvalid}
}

// newPairHint is the way out if a pair can no longer be used at all.
const newPairHint = "Make a new pair, and let the hosts trust it: lxc config trust add FILE --restricted --projects PROJECT on each of them"

// parseCertificate requires a certificate that is valid now: LXD checks nothing else.
func parseCertificate(text string, now time.Time) (*x509.Certificate, error) {
	certificate, err := findCertificate(text)
	switch {
	case err != nil:
		return nil, err
	case now.After(certificate.NotAfter):
		return nil, fieldError(fieldpath.New(certField), fmt.Sprintf("expired on %s: LXD does not accept it any more (%s)",
			certificate.NotAfter.UTC().Format(time.DateOnly), fingerprint(certificate)),
			newPairHint+".")
	case now.Before(certificate.NotBefore):
		return nil, fieldError(fieldpath.New(certField), fmt.Sprintf("is not valid before %s (%s)", certificate.NotBefore.UTC().Format(time.RFC3339), fingerprint(certificate)),
			"Check this machine's clock, or make a pair that is valid now.")
	}
	return certificate, nil
}

const certificateBlock = "CERTIFICATE"

// isOneLine tells whether a PEM text has lost its line breaks, as in the secrets of some CI systems.
func isOneLine(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "-----BEGIN ") && !strings.Contains(text, "\n")
}

// findCertificate reads the one certificate of a PEM text. It reports a private key that was
// given in its place.
func findCertificate(text string) (*x509.Certificate, error) {
	var found []*pem.Block
	for _, block := range pemBlocks(text) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return nil, fieldError(fieldpath.New(certField), "holds a private key", "Give the certificate here, and the key as "+keyField+". Or give the whole file of the pair in both.")
		}
		if block.Type == certificateBlock {
			found = append(found, block)
		}
	}
	switch len(found) {
	case 0:
		return nil, fieldError(fieldpath.New(certField), "holds no certificate in PEM", `Give the text that begins with "-----BEGIN CERTIFICATE-----".`)
	case 1:
	default:
		return nil, fieldError(fieldpath.New(certField), fmt.Sprintf("holds %d certificates", len(found)),
			"Give only the client's certificate: LXD trusts that one, not its signer.")
	}
	certificate, err := x509.ParseCertificate(found[0].Bytes)
	if err != nil {
		return nil, fieldError(fieldpath.New(certField), "holds a damaged certificate", "Copy it again, or make a new pair.")
	}
	return certificate, nil
}

// findPrivateKey finds the private key in a PEM text.
func findPrivateKey(text string) (*pem.Block, error) {
	found := pemBlocks(text)
	at := slices.IndexFunc(found, func(b *pem.Block) bool { return strings.HasSuffix(b.Type, "PRIVATE KEY") })
	if at < 0 {
		return nil, fieldError(fieldpath.New(keyField), "holds no private key in PEM", `Give the private key of the certificate: the text that begins with "-----BEGIN PRIVATE KEY-----" or the like.`)
	}
	block := found[at]
	if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
		return nil, fieldError(fieldpath.New(keyField), "is encrypted with a passphrase", "Give the key without one: openssl pkey -in FILE.")
	}
	return block, nil
}

func pemBlocks(text string) []*pem.Block {
	var found []*pem.Block
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return found
		}
		found = append(found, block)
	}
}

// splitPEM splits the text of a file into its public and its private part.
func splitPEM(text []byte) (certificate, key string) {
	for _, block := range pemBlocks(string(text)) {
		if block.Type == certificateBlock {
			certificate += string(pem.EncodeToMemory(block))
		} else {
			key += string(pem.EncodeToMemory(block))
		}
	}
	return certificate, key
}
