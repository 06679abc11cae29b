package cloudinit

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"time"
)

// certificate is a public certificate that LXD must trust.
type certificate struct {
	fingerprint string // SHA-256 of its DER, in hex, as LXD has it
	pem         string
}

// readCertificate accepts PEM of exactly one certificate. An error is a message and a hint.
// They never quote the text, because it may be a key.
func readCertificate(text string, now time.Time) (c certificate, message, hint string) {
	const want = "give the public certificate: one block that begins with -----BEGIN CERTIFICATE-----"
	if strings.Contains(text, "PRIVATE KEY") {
		return c, "this is, or contains, a private key, which must never reach a host", want
	}
	block, rest := pem.Decode([]byte(text))
	switch {
	case strings.TrimSpace(text) == "":
		return c, "it is empty", want
	case block == nil:
		return c, "this is not PEM", want
	case block.Type != "CERTIFICATE":
		return c, "this is PEM, but not of a certificate", want
	case strings.TrimSpace(string(rest)) != "":
		return c, "something follows the certificate", "list each certificate by itself; of a chain only the first is needed"
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return c, "this is not an X.509 certificate", want
	}
	if now.After(parsed.NotAfter) {
		return c, "the certificate expired on " + parsed.NotAfter.UTC().Format(time.DateOnly), "make a new one, or remove it from the list"
	}
	sum := sha256.Sum256(parsed.Raw)
	return certificate{
		fingerprint: hex.EncodeToString(sum[:]),
		// Encoded again, to drop any text around it.
		pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: parsed.Raw})),
	}, "", ""
}

// parsedCertificates returns the certificates of a valid host, in the given order.
func (h Host) parsedCertificates() []certificate {
	var all []certificate
	for _, text := range h.TrustedCertificates {
		c, _, _ := readCertificate(text, h.Now())
		all = append(all, c)
	}
	return all
}
