package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// The files of a service's own authority. AuthorityFile is public: clients know
// the service by it. The other file also holds the key.
const (
	AuthorityFile    = "ca.pem"
	AuthorityKeyFile = "ca-key.pem"
)

// The files of the authority of a cluster's nodes. A holder of its key can join
// the cluster, and read and write the whole ledger.
const (
	ClusterFile    = "cluster.pem"
	ClusterKeyFile = "cluster-key.pem"
)

// How long certificates are valid. A service makes a new one at each start, and
// while it runs.
const (
	authorityValidity = 10 * 365 * 24 * time.Hour
	serverValidity    = 90 * 24 * time.Hour
	// ClientValidity is the default validity of a client's certificate.
	ClientValidity = 365 * 24 * time.Hour
)

// clockMargin is how far a client's clock may be behind the service's when a
// certificate is new. A wrong time zone makes hours.
const clockMargin = 24 * time.Hour

// Authority signs the certificates of a service and its clients.
type Authority struct {
	Certificate string // in PEM
	public      *x509.Certificate
	key         *ecdsa.PrivateKey
}

// OpenAuthority returns the authority in a folder, and makes it if there is
// none. Its key is ECDSA P-256, in a file that only this user can read. The
// public certificate is beside it. If several processes make it at the same
// moment, one succeeds, and all return its authority. An error is an
// *engine.Refusal.
func OpenAuthority(folder string, now time.Time) (*Authority, error) {
	return openAuthority(folder, AuthorityKeyFile, AuthorityFile, now)
}

// OpenClusterAuthority is OpenAuthority for the nodes of a cluster.
func OpenClusterAuthority(folder string, now time.Time) (*Authority, error) {
	return openAuthority(folder, ClusterKeyFile, ClusterFile, now)
}

func openAuthority(folder, keyFile, publicFile string, now time.Time) (*Authority, error) {
	path := filepath.Join(folder, keyFile)
	text, _, err := readPrivate(path)
	if errors.Is(err, engine.ErrNotFound) {
		made, err := newAuthorityPEM(now)
		if err != nil {
			return nil, err
		}
		if err := createFile(path, made); err != nil && !errors.Is(err, engine.ErrConflict) {
			return nil, err
		}
		text, _, err = readPrivate(path)
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	a, err := parseAuthority(path, text)
	if err != nil {
		return nil, err
	}
	public := filepath.Join(folder, publicFile)
	if had, _, err := readFile(public); err == nil && string(had) == a.Certificate {
		return a, nil
	}
	return a, replaceFile(public, []byte(a.Certificate))
}

// HasAuthority reports whether a folder has an authority.
func HasAuthority(folder string) bool { return fileExists(filepath.Join(folder, AuthorityKeyFile)) }

// HasClusterAuthority reports whether a folder has the authority of a cluster.
func HasClusterAuthority(folder string) bool {
	return fileExists(filepath.Join(folder, ClusterKeyFile))
}

// CopyKey copies the key of an authority into a file that only this user can
// read. It keeps an existing file.
func CopyKey(from, to string) error {
	if fileExists(to) {
		return nil
	}
	text, _, err := readFile(from)
	if err != nil {
		return err
	}
	if _, err := parseAuthority(from, text); err != nil {
		return err
	}
	if err := createFile(to, text); err != nil && !errors.Is(err, engine.ErrConflict) {
		return err
	}
	return nil
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// newAuthorityPEM returns the text of a new authority's file.
func newAuthorityPEM(now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "maaslxd ledger " + rand.Text()[:8]},
		NotBefore: now.Add(-clockMargin), NotAfter: now.Add(authorityValidity),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := encodeKey(key)
	return append(encodeCertificate(signed), private...), err
}

// parseAuthority reads the file of an authority.
func parseAuthority(path string, text []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, damagedFileError(path, "it holds no certificate with its key")
	}
	public, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, damagedFileError(path, "its certificate cannot be read")
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !public.IsCA {
		return nil, damagedFileError(path, "it is not an authority of this program")
	}
	return &Authority{Certificate: string(encodeCertificate(public.Raw)), public: public, key: key}, nil
}

// Pool returns a certificate pool with only this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.public)
	return pool
}

// IssueServer makes a certificate, with its key, for a service with these names
// and addresses.
func (a *Authority) IssueServer(names []string, now time.Time) (tls.Certificate, error) {
	return a.issuePair(&x509.Certificate{
		Subject: pkix.Name{CommonName: "maaslxd ledger service"}, NotAfter: now.Add(serverValidity), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, names, now)
}

// IssueNode makes a certificate, with its key, for a node of a cluster. The
// node uses it as client and as server. It is valid as long as the authority: a
// node makes a new one at each start.
func (a *Authority) IssueNode(host string, now time.Time) (tls.Certificate, error) {
	return a.issuePair(&x509.Certificate{
		Subject: pkix.Name{CommonName: "maaslxd ledger node"}, NotAfter: a.public.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, []string{host}, now)
}

// issuePair signs a certificate for these names and addresses.
func (a *Authority) issuePair(template *x509.Certificate, names []string, now time.Time) (tls.Certificate, error) {
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	certificate, key, err := a.issue(template, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}

// IssueClient makes the certificate of a client, with its key, in PEM.
func (a *Authority) IssueClient(name string, now time.Time, valid time.Duration) (certificate, key []byte, err error) {
	return a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: now.Add(valid), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, now)
}

// issue makes a key, and signs the certificate for it.
func (a *Authority) issue(template *x509.Certificate, now time.Time) (certificate, private []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.NotBefore = now.Add(-clockMargin)
	template.KeyUsage, template.BasicConstraintsValid = x509.KeyUsageDigitalSignature, true
	if template.NotAfter.After(a.public.NotAfter) {
		template.NotAfter = a.public.NotAfter
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.public, key.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	private, err = encodeKey(key)
	return encodeCertificate(signed), private, err
}

func encodeCertificate(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), err
}

// fingerprint returns the SHA-256 of a certificate, in hex.
func fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}
