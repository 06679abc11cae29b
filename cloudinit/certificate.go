package cloudinit

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"time"
)

// certificate is a public certificate to be trusted.
type certificate struct {
	fingerprint string // SHA-256 of its DER, in hex, as LXD has it
	pem         string
}

// readCertificate takes PEM that is one certificate and nothing else. What is
// wrong is a message and a hint, without a word of the text itself: it may be a
// key.
func readCertificate(text string, now time.Time) (c certificate, message, hint string) {
	const want = "give the public certificate: one block that begins with -----BEGIN CERTIFICATE-----"
	if strings.Contains(text, "PRIVATE KEY") {
		return c, "this is, or contains, a private key, which must never reach a host", want
	}
	block, rest := pem.Decode([]byte(text))
	switch {
	case block == nil:
		return c, "this is not PEM", want
	case block.Type != "CERTIFICATE":
		return c, "this is PEM of something else than a certificate", want
	case strings.TrimSpace(string(rest)) != "":
		return c, "something follows the certificate", "list each certificate by itself; of a chain only the first is needed"
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return c, "this is no X.509 certificate", want
	}
	if now.After(parsed.NotAfter) {
		return c, "the certificate expired on " + parsed.NotAfter.UTC().Format(time.DateOnly), "make a new one, or remove it from the list"
	}
	sum := sha256.Sum256(parsed.Raw)
	return certificate{
		fingerprint: hex.EncodeToString(sum[:]),
		// Encoded anew, so that nothing that stood around it comes along.
		pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: parsed.Raw})),
	}, "", ""
}

// parsedCertificates are those of a valid host, in the order given.
func (h Host) parsedCertificates() []certificate {
	var all []certificate
	for _, text := range h.TrustedCertificates {
		c, _, _ := readCertificate(text, h.Now())
		all = append(all, c)
	}
	return all
}
