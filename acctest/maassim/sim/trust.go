package sim

import (
	"bytes"
	"encoding/pem"
	"slices"
	"strings"
)

// trust is a certificate that an LXD lets in.
type trust struct {
	name        string
	certificate string // PEM
	restricted  bool   // to the projects
	projects    []string
}

// trustsAll are certificates without restriction.
func trustsAll(certificates []string) []trust {
	var all []trust
	for _, c := range certificates {
		all = append(all, trust{certificate: c})
	}
	return all
}

// trusting is what the LXD has on a certificate.
func (l *lxdServer) trusting(certificate string) (trust, bool) {
	i := slices.IndexFunc(l.trusted, func(t trust) bool { return sameCertificate(t.certificate, certificate) })
	if i < 0 {
		return trust{}, false
	}
	return l.trusted[i], true
}

// trustingDER is what the LXD has on a client's certificate.
func (l *lxdServer) trustingDER(der []byte) (trust, bool) {
	i := slices.IndexFunc(l.trusted, func(t trust) bool {
		block, _ := pem.Decode([]byte(strings.TrimSpace(t.certificate)))
		return der != nil && block != nil && bytes.Equal(block.Bytes, der)
	})
	if i < 0 {
		return trust{}, false
	}
	return l.trusted[i], true
}

// allows says whether the certificate may act in a project.
func (t trust) allows(project string) bool {
	return !t.restricted || slices.Contains(t.projects, project)
}

// sameCertificate compares what is in two PEM texts, not how they are written.
func sameCertificate(a, b string) bool {
	first, _ := pem.Decode([]byte(strings.TrimSpace(a)))
	second, _ := pem.Decode([]byte(strings.TrimSpace(b)))
	if first == nil || second == nil {
		return strings.Join(strings.Fields(a), "\n") == strings.Join(strings.Fields(b), "\n")
	}
	return bytes.Equal(first.Bytes, second.Bytes)
}

// certificatesIn are the certificates in a text, whatever else is in it.
func certificatesIn(text string) (found []string) {
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
