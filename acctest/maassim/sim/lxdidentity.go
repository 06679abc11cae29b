package sim

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
)

// identity is the certificate that an LXD shows. It lasts as long as the LXD.
type identity struct {
	pair        tls.Certificate
	certificate string // PEM
}

// shown is the LXD's certificate, made when it is first asked for.
func (l *lxdServer) shown() (*identity, error) {
	if l.lent != nil {
		return &l.lent.shows, nil
	}
	if l.identity != nil {
		return l.identity, nil
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key for the LXD %s: %w", l.name, err)
	}
	template := l.certificateTemplate()
	der, err := x509.CreateCertificate(crand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate for the LXD %s: %w", l.name, err)
	}
	l.identity = &identity{
		pair:        tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private},
		certificate: encodePEM("CERTIFICATE", der) + "\n",
	}
	return l.identity, nil
}

// certificateTemplate names the server as LXD does: signed by itself, for its
// name and its addresses.
func (l *lxdServer) certificateTemplate() *x509.Certificate {
	serial, err := crand.Int(crand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		serial = big.NewInt(time.Now().UnixNano())
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"LXD"}, CommonName: "root@" + l.name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{l.name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, address := range l.addresses() {
		if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host) != nil {
			template.IPAddresses = append(template.IPAddresses, net.ParseIP(host))
		}
	}
	return template
}

// addresses are where the LXD is reached, as host:port.
func (l *lxdServer) addresses() []string {
	if l.metal == nil || l.bound() {
		return []string{l.address}
	}
	found := []string{}
	for _, ip := range l.metal.addresses() {
		found = append(found, net.JoinHostPort(ip, l.listen))
	}
	return found
}

// bound says whether the LXD of a machine listens on one address only.
func (l *lxdServer) bound() bool {
	_, _, err := net.SplitHostPort(l.listen)
	return err == nil
}
