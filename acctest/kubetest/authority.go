package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateValidity is longer than any test runs.
const certificateValidity = 7 * 24 * time.Hour

// Authority signs certificates for the control plane, for its clients, and for
// the webhooks that the API server calls.
type Authority struct {
	PEM  []byte // the authority's certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// KeyPair is a certificate with its key, both PEM.
type KeyPair struct{ Cert, Key []byte }

// NewAuthority makes an authority with a new key.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := certificateTemplate("kubetest")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{PEM: certPEM(der), cert: cert, key: key}, nil
}

// ServerKeyPair makes a pair for a server on 127.0.0.1.
func (a *Authority) ServerKeyPair() (KeyPair, error) {
	t, err := certificateTemplate("localhost")
	if err != nil {
		return KeyPair{}, err
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	t.IPAddresses, t.DNSNames = []net.IP{net.ParseIP(loopback)}, []string{"localhost"}
	return a.sign(t)
}

// ClientKeyPair makes a pair for a user of the API server in a group.
func (a *Authority) ClientKeyPair(user, group string) (KeyPair, error) {
	t, err := certificateTemplate(user)
	if err != nil {
		return KeyPair{}, err
	}
	t.Subject.Organization = []string{group}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(t)
}

// sign makes a key, and a certificate for it.
func (a *Authority) sign(t *x509.Certificate) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return KeyPair{}, err
	}
	private, err := keyPEM(key)
	return KeyPair{Cert: certPEM(der), Key: private}, err
}

// certificateTemplate is a certificate with that name and a random serial
// number.
func certificateTemplate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour), // clocks may differ
		NotAfter:     time.Now().Add(certificateValidity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}, nil
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// writeFiles writes the pair to <dir>/<name>.crt and <name>.key, and returns
// both paths.
func (p KeyPair) writeFiles(dir, name string) (cert, key string, err error) {
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	if err := os.WriteFile(cert, p.Cert, 0o600); err != nil {
		return "", "", err
	}
	return cert, key, os.WriteFile(key, p.Key, 0o600)
}
