package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"
)

// Trust is a certificate that an LXD lets in.
type Trust struct {
	Name        string
	Certificate string // PEM
	Restricted  bool   // to the projects
	Projects    []string
}

// UnrestrictedTrusts are certificates without restriction.
func UnrestrictedTrusts(certificates []string) []Trust {
	var all []Trust
	for _, c := range certificates {
		all = append(all, Trust{Certificate: c})
	}
	return all
}

// FindTrust is what an LXD that trusts all these has on a certificate.
func FindTrust(trusted []Trust, certificate string) (Trust, bool) {
	i := slices.IndexFunc(trusted, func(t Trust) bool { return IsSameCertificate(t.Certificate, certificate) })
	if i < 0 {
		return Trust{}, false
	}
	return trusted[i], true
}

// FindTrustDER is what such an LXD has on a client's certificate.
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

// AllowsProject says whether the certificate may act in a project.
func (t Trust) AllowsProject(project string) bool {
	return !t.Restricted || slices.Contains(t.Projects, project)
}

// IsSameCertificate compares what is in two PEM texts, not how they are written.
func IsSameCertificate(a, b string) bool {
	first, _ := pem.Decode([]byte(strings.TrimSpace(a)))
	second, _ := pem.Decode([]byte(strings.TrimSpace(b)))
	if first == nil || second == nil {
		return strings.Join(strings.Fields(a), "\n") == strings.Join(strings.Fields(b), "\n")
	}
	return bytes.Equal(first.Bytes, second.Bytes)
}

// CertificatesIn are the certificates in a text, whatever else is in it.
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

// Fingerprint is LXD's name of a certificate.
func Fingerprint(certificate string) string {
	var der []byte
	if block, _ := pem.Decode([]byte(certificate)); block != nil {
		der = block.Bytes
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
