package realmaas

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls MAAS as an operator's script would.
type Client struct {
	url string
	key [3]string // consumer, token, secret

	// HTTP sends the requests.
	HTTP *http.Client
	// Pause is the time before a read is repeated.
	Pause time.Duration
}

// maxReadAttempts is how often a read is tried while MAAS does not answer.
const maxReadAttempts = 5

// maxAnswerBytes limits the size of an answer. A region of 10,000 machines has
// smaller ones.
const maxAnswerBytes = 512 << 20

// NewClient makes a client for the MAAS at a URL, with an API key of three
// parts.
func NewClient(address, apiKey string) (*Client, error) {
	parts := strings.Split(apiKey, ":")
	if len(parts) != 3 {
		return nil, errors.New("the API key must have three parts, separated by colons")
	}
	address = strings.TrimSuffix(address, "/")
	if !strings.HasSuffix(address, "/MAAS") {
		address += "/MAAS"
	}
	return &Client{
		url: address + "/api/2.0/", key: [3]string(parts),
		HTTP: &http.Client{Timeout: 3 * time.Minute}, Pause: 2 * time.Second,
	}, nil
}

// Trust makes the client trust these PEM certificates besides the system's,
// where MAAS is called over https. An empty text adds none.
func (c *Client) Trust(certificates string) error {
	if certificates == "" {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(certificates)) {
		return errors.New("there is no certificate in the PEM text")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	c.HTTP.Transport = transport
	return nil
}

// StatusError is an answer with an error status. Its text leaves out the body
// of a 401, which may contain the secret of the API key.
type StatusError struct {
	Method, Path string
	Status       int
	Body         string
}

// Error names the call and the answer.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %d %s %s", e.Method, e.Path, e.Status, http.StatusText(e.Status), e.Body)
}

// IsGone reports whether MAAS says that it does not have the object. No other
// error means that.
func IsGone(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Status == http.StatusNotFound
}

// GetJSON reads what is at a path into a value. It tries again after a 502, a
// 503 and a transport error, and after nothing else.
func (c *Client) GetJSON(ctx context.Context, path string, into any) error {
	var body []byte
	var err error
	for try := range maxReadAttempts {
		if try > 0 {
			if waitErr := WaitFor(ctx, c.Pause); waitErr != nil {
				return errors.Join(waitErr, err)
			}
		}
		if body, err = c.Send(ctx, http.MethodGet, path, nil); err == nil || !isTransient(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s: cannot read the answer: %w", path, err)
	}
	return nil
}

// isTransient reports whether a repeated read may succeed.
func isTransient(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return true // there was no answer
	}
	return status.Status == http.StatusBadGateway || status.Status == http.StatusServiceUnavailable
}

// Send sends one request, once, and returns MAAS's answer.
func (c *Client) Send(ctx context.Context, method, path string, form url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("Authorization", fmt.Sprintf(
		`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="%x", oauth_timestamp="%d"`,
		c.key[0], c.key[1], c.key[2], rand.Uint64(), time.Now().Unix()))
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode == http.StatusUnauthorized:
		return nil, &StatusError{method, path, res.StatusCode, "the API key is refused"}
	case res.StatusCode/100 != 2:
		return nil, &StatusError{method, path, res.StatusCode, string(body)}
	}
	return body, nil
}

// WaitFor waits for the pause. It returns an error if ctx ends before.
func WaitFor(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
