package remote

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

// Files are where the texts of a Config come from; empty: from no file. They are read
// again while the client is in use, so that a certificate can be renewed.
type Files struct{ CA, Certificate, Key string }

// filesReadInterval is how long files are not looked at again.
const filesReadInterval = 30 * time.Second

// connections make the HTTP client of a Config, and another one when its files change.
type connections struct {
	mu          sync.Mutex
	config      Config
	http        *http.Client
	filesReadAt time.Time
}

// httpClient is the HTTP client to send by. Where files have changed and make sense, it is a
// new one: a connection that is open goes on with the certificate with which it began.
func (c *connections) httpClient() *http.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config.Files == (Files{}) || time.Since(c.filesReadAt) < filesReadInterval {
		return c.http
	}
	c.filesReadAt = time.Now()
	next, err := c.config.readFiles()
	if err != nil || next == c.config {
		return c.http // of two files that are being written, one may be older
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

// close gives up the connections that nobody uses.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.http.CloseIdleConnections()
}

// readFiles is the Config with the texts that are in its files now.
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
