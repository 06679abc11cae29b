package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Config says where the service of a ledger is, and who the client is. The texts are PEM.
type Config struct {
	Address     string // https://ledger.example:7443
	CA          string // who signs the service's certificate; empty: those that the system trusts
	Certificate string // of the client
	Key         string
	Files       Files  // from which CA, Certificate and Key were read
	Version     string // of the program, for the service's log
	Dialer      Dialer // nil: the network
}

// Dialer opens connections, as *net.Dialer does.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// IsAddress tells whether a text names a service, and no file. What has a scheme that no
// service speaks is an address, too: New refuses it.
func IsAddress(text string) bool {
	return strings.Contains(text, "://") || lacksScheme.MatchString(text)
}

// lacksScheme is an address without https://, like ledger.example.com:7443. As a path it
// would be a new file in the working directory, which nobody shares.
var lacksScheme = regexp.MustCompile(`^[^/\\]+:[0-9]+$`)

// The settings, as the front ends spell them.
const (
	addressField = "ledger"
	caField      = "ledger_ca"
	certField    = "ledger_cert"
	keyField     = "ledger_key"
)

// parse checks a Config. Errors are *engine.SpecErrors, and show nothing of the key.
func (c Config) parse() (*url.URL, *tls.Config, error) {
	base, err := parseAddress(c.Address)
	if err != nil {
		return nil, nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if c.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, nil, bad(caField, "holds no certificate in PEM", "Give the file ca.pem of the ledger service.")
		}
	}
	switch {
	case c.Certificate == "":
		return nil, nil, bad(certField, "is missing: a ledger service knows its clients by certificates", "Give the certificate that ledger client add has made.")
	case c.Key == "":
		return nil, nil, bad(keyField, "is missing: the certificate alone proves nothing", "Give the key that ledger client add has made.")
	}
	pair, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key))
	if err != nil {
		return nil, nil, bad(keyField, "is not the private key of the certificate in "+certField, "Give both as ledger client add has made them, in PEM.")
	}
	if now := time.Now(); pair.Leaf != nil && now.After(pair.Leaf.NotAfter) {
		return nil, nil, bad(certField, fmt.Sprintf("expired on %s", pair.Leaf.NotAfter.UTC().Format(time.RFC3339)),
			"Ask who runs the ledger service for another one: ledger client add.")
	}
	config.Certificates = []tls.Certificate{pair}
	return base, config, nil
}

func parseAddress(text string) (*url.URL, error) {
	const hint = "Give it as https://HOST:PORT."
	if lacksScheme.MatchString(text) {
		return nil, bad(addressField, "does not begin with https://", hint)
	}
	base, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, bad(addressField, "is no address", hint)
	case base.User != nil:
		return nil, bad(addressField, "holds a user or a password, which a ledger service does not know", hint)
	case base.Scheme != "https":
		return nil, bad(addressField, fmt.Sprintf("begins with %s://, but a ledger service speaks https alone", base.Scheme), hint)
	case base.Host == "" || base.Hostname() == "":
		return nil, bad(addressField, "names no host", hint)
	case strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.Fragment != "":
		return nil, bad(addressField, "has something after the host and the port", hint)
	}
	base.Path = ""
	return base, nil
}

func bad(field, message, hint string) error {
	return &engine.SpecError{Field: field, Message: message, Hint: hint, Err: engine.ErrInvalid}
}
