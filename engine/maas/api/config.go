package api

import (
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/maaslxd/maaslxd/engine"
)

// Config is what New needs. URL and APIKey are required.
type Config struct {
	// URL is MAAS's address, "http://maas:5240/MAAS", with or without /MAAS
	// and a trailing slash.
	URL string
	// APIKey is consumer:token:secret, as MAAS's preferences page shows it.
	APIKey string
	// CACert is a PEM bundle that is trusted in addition to the system's.
	CACert []byte
	// UserAgent is sent with each request; empty means "maaslxd".
	UserAgent string
	// Timeout bounds each request; zero means 60 s. Requests in which MAAS waits for a rack
	// controller have at least 150 s.
	Timeout time.Duration
	// MaxConns bounds the connections to MAAS; zero means 14. Terraform plans in one
	// process and applies in another: together they must stay within 16.
	MaxConns int
	// Backoff returns the pause before the next attempt; nil means ExponentialBackoff with
	// Rand.
	Backoff Backoff
	// Transport replaces the client's own transport. Then CACert and MaxConns are ignored.
	Transport http.RoundTripper
	// Log receives a Debug line for each attempt; nil discards them.
	Log *slog.Logger
	// OnCall is called after each attempt of a request; nil: no calls. It must not block,
	// and is called from many goroutines.
	OnCall func(Call)
	// Now is the clock for signatures and waits; nil means time.Now.
	Now func() time.Time
	// Rand spreads repeated attempts. It returns numbers in [0, 1); nil means math/rand.
	// Nonces never use it.
	Rand func() float64
}

// ConfigError says that a Config value cannot be used. It wraps engine.ErrInvalid.
type ConfigError struct {
	Field   string // "api_url", "api_key" or "ca_cert"
	Message string
	Hint    string
}

func (e *ConfigError) Error() string { return e.Field + ": " + e.Message }

func (e *ConfigError) Unwrap() error { return engine.ErrInvalid }

// apiKey is an OAuth1 key. A MAAS consumer has no secret of its own.
type apiKey struct{ consumer, token, secret string }

func parseKey(text string) (apiKey, error) {
	const hint = "Give the whole key. Copy it from your user's preferences in MAAS, or from sudo maas apikey --username NAME on the MAAS server."
	text = strings.TrimSpace(text)
	if text == "" {
		return apiKey{}, &ConfigError{"api_key", "there is no API key", hint}
	}
	parts := strings.Split(text, ":")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return apiKey{}, &ConfigError{"api_key", "an API key has three parts, consumer:token:secret", hint}
	}
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if strings.ContainsFunc(text, odd) {
		return apiKey{}, &ConfigError{"api_key", "there is a space or an unprintable character in the API key", hint}
	}
	return apiKey{parts[0], parts[1], parts[2]}, nil
}

// parseURL returns the address below which the API's routes are, ".../MAAS/api/2.0/".
func parseURL(text string) (*url.URL, error) {
	const hint = "It looks like http://maas.example.com:5240/MAAS."
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, &ConfigError{"api_url", "there is no address of a MAAS", hint}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil: // the text of err may repeat a password
		return nil, &ConfigError{"api_url", "this is not a URL", hint}
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, &ConfigError{"api_url", "the URL must begin with http:// or https://", hint}
	case u.Hostname() == "":
		return nil, &ConfigError{"api_url", "the URL names no host", hint}
	case u.User != nil:
		return nil, &ConfigError{"api_url", "the URL must not hold a user or password", "MAAS takes an API key instead."}
	case u.RawQuery != "" || u.Fragment != "":
		return nil, &ConfigError{"api_url", "the URL must end with its path", hint}
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: apiPath(u.Path)}, nil
}

func apiPath(given string) string {
	p := strings.TrimSuffix(path.Clean("/"+given), "/api/2.0")
	if path.Base(p) != "MAAS" {
		p = path.Join("/", p, "MAAS")
	}
	return p + "/api/2.0/"
}

func parseCA(pem []byte) (*x509.CertPool, error) {
	if len(pem) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &ConfigError{"ca_cert", "there is no PEM certificate in it",
			"Give the certificate of the authority that signed MAAS's, from BEGIN CERTIFICATE to END CERTIFICATE."}
	}
	return pool, nil
}

// parse checks all fields, so that one error names everything to correct.
func (c Config) parse() (*url.URL, apiKey, *x509.CertPool, error) {
	base, badURL := parseURL(c.URL)
	key, badKey := parseKey(c.APIKey)
	pool, badCA := parseCA(c.CACert)
	return base, key, pool, errors.Join(badURL, badKey, badCA)
}
