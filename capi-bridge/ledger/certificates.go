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

// certificates are what the service shows, and whose clients it takes: those of its own
// authority, and of --client-ca besides. An authority of its own is made unless both
// --server-cert and --client-ca are given, and counts wherever there is one.
type certificates struct {
	serverCert, serverKey, clientCA string // files

	authority *access.Authority // nil where both are given
	folder    string
	names     []string
	signers   *x509.CertPool
	log       *slog.Logger

	renewing *sync.Mutex
	shown    *tls.Certificate
	renew    time.Time // when another one is to be shown
}

// check refuses halves.
func (c *certificates) check() error {
	switch {
	case c.serverCert != "" && c.serverKey == "":
		return &setting.UsageError{Flag: "--server-key", Text: "it is missing", Hint: "--server-cert needs its key."}
	case c.serverCert == "" && c.serverKey != "":
		return &setting.UsageError{Flag: "--server-cert", Text: "it is missing", Hint: "--server-key is of no use without its certificate."}
	}
	return nil
}

// open reads the files that are given, and makes what is missing.
func (c *certificates) open(folder string, names []string, log *slog.Logger) (err error) {
	c.folder, c.names, c.log, c.renewing = folder, names, log, &sync.Mutex{}
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
	c.shown, c.renew, err = c.load(time.Now())
	return err
}

// about says for people whose certificates the clients have to trust.
func (c *certificates) about() string {
	if c.serverCert != "" {
		return c.serverCert
	}
	return filepath.Join(c.folder, access.AuthorityFile)
}

// ownFor is how long a certificate of one's own is shown: less than half of its time.
// Files are read again each minute.
const (
	ownFor   = 30 * 24 * time.Hour
	filesFor = time.Minute
)

// current is the certificate to be shown. Where another one cannot be had, the former
// one goes on.
func (c *certificates) current(now time.Time) (*tls.Certificate, error) {
	c.renewing.Lock()
	defer c.renewing.Unlock()
	if now.Before(c.renew) {
		return c.shown, nil
	}
	shown, renew, err := c.load(now)
	if err != nil {
		c.log.Error("the certificate of the service cannot be read anew", "error", err)
		c.renew = now.Add(filesFor)
		return c.shown, nil
	}
	c.shown, c.renew = shown, renew
	return c.shown, nil
}

// load reads or makes a certificate, and says how long it is to be shown.
func (c *certificates) load(now time.Time) (*tls.Certificate, time.Time, error) {
	if c.serverCert == "" {
		pair, err := c.authority.Server(c.names, now)
		return &pair, now.Add(ownFor), err
	}
	pair, err := tls.LoadX509KeyPair(c.serverCert, c.serverKey)
	switch {
	case err != nil:
		return nil, now, &setting.UsageError{Flag: "--server-cert, --server-key", Text: fmt.Sprintf("they are no pair that can be read: %v", err), Hint: "Name two files in PEM that belong together."}
	case pair.Leaf != nil && now.After(pair.Leaf.NotAfter):
		return nil, now, &setting.UsageError{Flag: "--server-cert", Text: "it expired on " + pair.Leaf.NotAfter.UTC().Format(time.RFC3339), Hint: "Give another one."}
	}
	return &pair, now.Add(filesFor), nil
}
