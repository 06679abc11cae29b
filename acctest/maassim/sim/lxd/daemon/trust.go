package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"
)

// Trust is a certificate that an LXD trusts.
type Trust struct {
	Name        string
	Certificate string // PEM
	Restricted  bool   // to the projects
	Projects    []string
}

// UnrestrictedTrusts makes entries without restriction for certificates.
func UnrestrictedTrusts(certificates []string) []Trust {
	var all []Trust
	for _, c := range certificates {
		all = append(all, Trust{Certificate: c})
	}
	return all
}

// FindTrust finds the entry of a certificate.
func FindTrust(trusted []Trust, certificate string) (Trust, bool) {
	i := slices.IndexFunc(trusted, func(t Trust) bool { return IsSameCertificate(t.Certificate, certificate) })
	if i < 0 {
		return Trust{}, false
	}
	return trusted[i], true
}

// FindTrustDER finds the entry of a client's certificate.
func FindTrustDER(trusted []Trust, der []byte) (Trust, bool) {
	i := slices.IndexFunc(trusted, func(t Trust) bool {
		block, _ := pem.Decode([]byte(strings.TrimSpace(t.Certificate)))
		return der != nil && block != nil && bytes.Equal(block.Bytes, der)
	})
	if i < 0 {
		return Trust{}, false
	}
	return trusted[i], true
}

// AllowsProject tells whether the certificate gives access to a project.
func (t Trust) AllowsProject(project string) bool {
	return !t.Restricted || slices.Contains(t.Projects, project)
}

// IsSameCertificate compares the certificates in two PEM texts, regardless of how they are
// written.
func IsSameCertificate(a, b string) bool {
	first, _ := pem.Decode([]byte(strings.TrimSpace(a)))
	second, _ := pem.Decode([]byte(strings.TrimSpace(b)))
	if first == nil || second == nil {
		return strings.Join(strings.Fields(a), "\n") == strings.Join(strings.Fields(b), "\n")
	}
	return bytes.Equal(first.Bytes, second.Bytes)
}

// CertificatesIn are the certificates in a text that may hold other things, too.
func CertificatesIn(text string) (found []string) {
	const begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
	for {
		_, rest, some := strings.Cut(text, begin)
		body, after, whole := strings.Cut(rest, end)
		if !some || !whole {
			return found
		}
		found = append(found, begin+"\n"+strings.Join(strings.Fields(body), "\n")+"\n"+end)
		text = after
	}
}

// EncodePEM is a PEM block without its last newline.
func EncodePEM(kind string, der []byte) string {
	return strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

// Fingerprint is LXD's identifier of a certificate.
func Fingerprint(certificate string) string {
	var der []byte
	if block, _ := pem.Decode([]byte(certificate)); block != nil {
		der = block.Bytes
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
