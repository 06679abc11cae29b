package ledger

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
)

// certificates holds the service's certificate and decides which clients it
// accepts: those of its own authority and of --client-ca. The service makes its
// own authority unless both --server-cert and --client-ca are given. An
// existing own authority always counts.
type certificates struct {
	serverCert, serverKey, clientCA string // files

	authority *access.Authority // nil where both are given
	folder    string
	names     []string
	signers   *x509.CertPool
	log       *slog.Logger

	renewMu          *sync.Mutex
	shownCertificate *tls.Certificate
	renewAt          time.Time // when to load another one
}

// checkCertificateFlags refuses a certificate without its key, and the reverse.
func (c *certificates) checkCertificateFlags() error {
	switch {
	case c.serverCert != "" && c.serverKey == "":
		return &setting.UsageError{Flag: "--server-key", Text: "it is missing", Hint: "--server-cert needs its key."}
	case c.serverCert == "" && c.serverKey != "":
		return &setting.UsageError{Flag: "--server-cert", Text: "it is missing", Hint: "--server-key needs its certificate."}
	}
	return nil
}

// openCertificates reads the given files, and makes the missing ones.
func (c *certificates) openCertificates(folder string, names []string, log *slog.Logger) (err error) {
	c.folder, c.names, c.log, c.renewMu = folder, names, log, &sync.Mutex{}
	c.signers = x509.NewCertPool()
	if c.serverCert == "" || c.clientCA == "" || access.HasAuthority(folder) {
		if c.authority, err = access.OpenAuthority(folder, time.Now()); err != nil {
			return err
		}
		c.signers = c.authority.Pool()
	}
	if c.clientCA != "" {
		text, err := os.ReadFile(c.clientCA)
		if err != nil || !c.signers.AppendCertsFromPEM(text) {
			return &setting.UsageError{Flag: "--client-ca", Text: fmt.Sprintf("%s holds no certificate in PEM that can be read", c.clientCA), Hint: "Name the file of the authorities."}
		}
	}
	c.shownCertificate, c.renewAt, err = c.loadCertificate(time.Now())
	return err
}

// authorityPath returns the path of the authority that clients must trust, for
// messages.
func (c *certificates) authorityPath() string {
	if c.serverCert != "" {
		return c.serverCert
	}
	return filepath.Join(c.folder, access.AuthorityFile)
}

// ownCertificatePeriod is how long the service uses a certificate of its own:
// less than half of its validity. Given files are read again each minute.
const (
	ownCertificatePeriod   = 30 * 24 * time.Hour
	certificateFilesPeriod = time.Minute
)

// currentCertificate returns the certificate for new connections. If it cannot
// get a new one, it keeps the former one.
func (c *certificates) currentCertificate(now time.Time) (*tls.Certificate, error) {
	c.renewMu.Lock()
	defer c.renewMu.Unlock()
	if now.Before(c.renewAt) {
		return c.shownCertificate, nil
	}
	shown, renew, err := c.loadCertificate(now)
	if err != nil {
		c.log.Error("the certificate of the service cannot be read again", "error", err)
		c.renewAt = now.Add(certificateFilesPeriod)
		return c.shownCertificate, nil
	}
	c.shownCertificate, c.renewAt = shown, renew
	return c.shownCertificate, nil
}

// loadCertificate reads or makes a certificate, and returns when to load the
// next one.
func (c *certificates) loadCertificate(now time.Time) (*tls.Certificate, time.Time, error) {
	if c.serverCert == "" {
		pair, err := c.authority.IssueServer(c.names, now)
		return &pair, now.Add(ownCertificatePeriod), err
	}
	pair, err := tls.LoadX509KeyPair(c.serverCert, c.serverKey)
	switch {
	case err != nil:
		return nil, now, &setting.UsageError{Flag: "--server-cert, --server-key", Text: fmt.Sprintf("they are not a readable pair: %v", err), Hint: "Name two files in PEM that belong together."}
	case pair.Leaf != nil && now.After(pair.Leaf.NotAfter):
		return nil, now, &setting.UsageError{Flag: "--server-cert", Text: "it expired on " + pair.Leaf.NotAfter.UTC().Format(time.RFC3339), Hint: "Give another one."}
	}
	return &pair, now.Add(certificateFilesPeriod), nil
}
