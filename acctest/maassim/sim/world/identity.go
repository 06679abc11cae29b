package world

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// Identity is the server certificate of an LXD. It stays the same as long as the LXD
// exists.
type Identity struct {
	Pair        tls.Certificate
	Certificate string // PEM
}

// EnsureIdentity is the LXD's certificate. The first call makes it.
func (l *LXD) EnsureIdentity() (*Identity, error) {
	if l.Lent != nil {
		return l.Lent.Identity(), nil
	}
	if l.Identity != nil {
		return l.Identity, nil
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key for the LXD %s: %w", l.Name, err)
	}
	template := certificateTemplate(l)
	der, err := x509.CreateCertificate(crand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate for the LXD %s: %w", l.Name, err)
	}
	l.Identity = &Identity{
		Pair:        tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private},
		Certificate: daemon.EncodePEM("CERTIFICATE", der) + "\n",
	}
	return l.Identity, nil
}

// certificateTemplate is self-signed, and names the server's name and addresses, as LXD's
// does.
func certificateTemplate(l *LXD) *x509.Certificate {
	serial, err := crand.Int(crand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		serial = big.NewInt(time.Now().UnixNano())
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"LXD"}, CommonName: "root@" + l.Name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{l.Name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, address := range l.Addresses() {
		if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host) != nil {
			template.IPAddresses = append(template.IPAddresses, net.ParseIP(host))
		}
	}
	return template
}

// Addresses are the host:port at which the LXD can be reached.
func (l *LXD) Addresses() []string {
	if l.Metal == nil || l.IsBound() {
		return []string{l.Address}
	}
	found := []string{}
	for _, ip := range l.Metal.Addresses() {
		found = append(found, net.JoinHostPort(ip, l.Listen))
	}
	return found
}

// IsBound tells whether the LXD of a machine listens on one address only.
func (l *LXD) IsBound() bool {
	_, _, err := net.SplitHostPort(l.Listen)
	return err == nil
}
