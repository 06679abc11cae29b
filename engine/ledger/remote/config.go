package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
)

// Config holds the address of a ledger service and the identity of the client. The texts are
// PEM.
type Config struct {
	// Address is https://ledger.example:7443. The addresses of several nodes are separated by
	// commas.
	Address     string
	CA          string // signs the service's certificate; empty: the CAs of the system
	Certificate string // of the client
	Key         string
	Files       Files  // paths of CA, Certificate and Key
	Version     string // of the program, for the service's log
	Dialer      Dialer // nil: the network
}

// Dialer opens connections, as *net.Dialer does.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// IsAddress reports whether a text names a service, or the nodes of one, and
// not a file. A text with an unknown scheme is an address as well: New refuses
// it.
func IsAddress(text string) bool {
	switch {
	case strings.Contains(text, "://"):
		return true
	case strings.ContainsAny(text, `/\`):
		return false // a path, which may have commas and colons
	}
	return slices.ContainsFunc(strings.Split(text, ","), schemelessAddress.MatchString)
}

// schemelessAddress matches an address without https://, such as ledger.example.com:7443. As a
// path it would name a new file in the working directory, which nobody shares.
var schemelessAddress = regexp.MustCompile(`^[^/\\]+:[0-9]+$`)

// The settings, as the front ends spell them.
const (
	addressField = "ledger"
	caField      = "ledger_ca"
	certField    = "ledger_cert"
	keyField     = "ledger_key"
)

// parse checks a Config. Errors are *engine.SpecErrors, and never show the key.
func (c Config) parse() ([]*url.URL, *tls.Config, error) {
	addresses, err := parseAddresses(c.Address)
	if err != nil {
		return nil, nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if c.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, nil, configError(fieldpath.New(caField), "holds no certificate in PEM", "Give the file ca.pem of the ledger service.")
		}
	}
	switch {
	case c.Certificate == "":
		return nil, nil, configError(fieldpath.New(certField), "is missing: a ledger service knows its clients by certificates", "Give the certificate that ledger client add has made.")
	case c.Key == "":
		return nil, nil, configError(fieldpath.New(keyField), "is missing: the certificate alone proves nothing", "Give the key that ledger client add has made.")
	}
	pair, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key))
	if err != nil {
		return nil, nil, configError(fieldpath.New(keyField), "is not the private key of the certificate in "+certField, "Give both as ledger client add has made them, in PEM.")
	}
	if now := time.Now(); pair.Leaf != nil && now.After(pair.Leaf.NotAfter) {
		return nil, nil, configError(fieldpath.New(certField), fmt.Sprintf("expired on %s", pair.Leaf.NotAfter.UTC().Format(time.RFC3339)),
			"Ask who runs the ledger service for another one: ledger client add.")
	}
	config.Certificates = []tls.Certificate{pair}
	return addresses, config, nil
}

// parseAddresses reads a list of addresses. An error names the invalid entry.
func parseAddresses(text string) ([]*url.URL, error) {
	entries := strings.Split(text, ",")
	var all []*url.URL
	seen := map[string]bool{}
	for n, entry := range entries {
		entry = strings.TrimSpace(entry)
		base, wrong := parseAddress(entry)
		if wrong == "" && seen[hostAndPort(base)] {
			wrong = "names a node a second time"
		}
		switch {
		case wrong != "" && len(entries) == 1:
			return nil, configError(fieldpath.New(addressField), wrong, "Give it as https://HOST:PORT.")
		case wrong != "":
			return nil, configError(fieldpath.New(addressField), fmt.Sprintf("has an entry %s that %s", entryName(n+1, entry), wrong),
				"Give each node of the cluster once, as https://HOST:PORT, and part them by commas.")
		}
		seen[hostAndPort(base)] = true
		all = append(all, base)
	}
	return all, nil
}

// entryName names an entry of a list. If the entry may hold a password, it gives only its
// number.
func entryName(number int, entry string) string {
	if entry == "" || strings.Contains(entry, "@") {
		return fmt.Sprint(number)
	}
	return fmt.Sprintf("%d, %s,", number, bounded.TruncateText(bounded.OneLine(entry), 100))
}

// hostAndPort returns the host and port of an address, with the default port 443.
func hostAndPort(base *url.URL) string {
	return net.JoinHostPort(strings.ToLower(base.Hostname()), cmp.Or(base.Port(), "443"))
}

// parseAddress reads one address. wrong says why it is invalid; empty: it is valid.
func parseAddress(text string) (base *url.URL, wrong string) {
	switch {
	case text == "":
		return nil, "is empty"
	case !strings.Contains(text, "://"):
		return nil, "does not begin with https://"
	}
	base, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, "is not an address"
	case base.User != nil:
		return nil, "holds a user or a password, which a ledger service does not know"
	case base.Scheme != "https":
		return nil, fmt.Sprintf("begins with %s://, but a ledger service speaks https alone", base.Scheme)
	case base.Host == "" || base.Hostname() == "":
		return nil, "names no host"
	case strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.Fragment != "":
		return nil, "has something after the host and the port"
	}
	base.Path = ""
	return base, ""
}

func configError(field fieldpath.Path, message, hint string) error {
	return &engine.SpecError{Field: field, Message: message, Hint: hint, Err: engine.ErrInvalid}
}
