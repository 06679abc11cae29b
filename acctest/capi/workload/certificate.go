package workload

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"net"
	"time"

	"sigs.k8s.io/cluster-api/util/certs"
)

// The files in which kubeadm finds its authorities.
const (
	clusterCAFile = "/etc/kubernetes/pki/ca"
	etcdCAFile    = "/etc/kubernetes/pki/etcd/ca"
)

// authority signs certificates for a cluster, or for its etcd.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pool *x509.CertPool // contains this certificate only
}

// readAuthority reads an authority from the files of the user-data: name.crt
// and name.key.
func readAuthority(files map[string]string, name string) (*authority, error) {
	cert, err := certs.DecodeCertPEM([]byte(files[name+".crt"]))
	if err != nil {
		return nil, fmt.Errorf("%s.crt in the user-data: %w", name, err)
	}
	key, err := certs.DecodePrivateKeyPEM([]byte(files[name+".key"]))
	if err != nil {
		return nil, fmt.Errorf("%s.key in the user-data: %w", name, err)
	}
	if cert == nil || key == nil {
		return nil, fmt.Errorf("the user-data lacks %s.crt or %s.key", name, name)
	}
	a := &authority{cert: cert, key: key, pool: x509.NewCertPool()}
	a.pool.AddCert(cert)
	return a, nil
}

// certificateHash is the hash by which joining machines know the authority in
// kubeadm.
func (a *authority) certificateHash() string {
	sum := sha256.Sum256(a.cert.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// newServerCertificate makes a certificate with a key for a server. names are
// DNS names or addresses. The server may also use it as a client, as etcd does.
func (a *authority) newServerCertificate(names ...string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}, nil
}
