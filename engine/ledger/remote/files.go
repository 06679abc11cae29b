package remote

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

// Files are the paths from which the texts of a Config were read; empty: the text is from no
// file. The client reads them again while it runs, so that you can renew a certificate.
type Files struct{ CA, Certificate, Key string }

// filesReadInterval is the time between two reads of the files.
const filesReadInterval = 30 * time.Second

// connections makes the HTTP client of a Config, and makes a new one when the files change.
type connections struct {
	mu          sync.Mutex
	config      Config
	http        *http.Client
	filesReadAt time.Time
}

// httpClient returns the HTTP client for the next call. If the files have changed and are valid,
// it makes a new one. Open connections keep the certificate with which they began.
func (c *connections) httpClient() *http.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config.Files == (Files{}) || time.Since(c.filesReadAt) < filesReadInterval {
		return c.http
	}
	c.filesReadAt = time.Now()
	next, err := c.config.readFiles()
	if err != nil || next == c.config {
		return c.http // somebody may be replacing the files: try again later
	}
	_, trust, err := next.parse()
	if err != nil {
		return c.http
	}
	former := c.http
	c.config, c.http = next, newHTTPClient(trust, next.Dialer)
	former.CloseIdleConnections()
	return c.http
}

// close closes the idle connections.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.http.CloseIdleConnections()
}

// readFiles returns the Config with the present texts of its files.
func (c Config) readFiles() (Config, error) {
	for _, f := range []struct {
		path string
		to   *string
	}{{c.Files.CA, &c.CA}, {c.Files.Certificate, &c.Certificate}, {c.Files.Key, &c.Key}} {
		if f.path == "" {
			continue
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			return c, fmt.Errorf("cannot read %s: %w", f.path, err)
		}
		*f.to = cmp.Or(string(text), *f.to)
	}
	return c, nil
}
