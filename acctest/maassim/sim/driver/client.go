package driver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// lentTimeout limits a call of a real LXD.
const lentTimeout = time.Minute

// client calls a real LXD as its administrator or as MAAS.
type client struct {
	http *http.Client
	root string
}

// lxdError is an error that LXD answered.
type lxdError struct {
	code int
	text string
}

// Error is LXD's own message.
func (r *lxdError) Error() string { return r.text }

// newClient connects with dial. If a pair is given it uses TLS and accepts any server
// certificate, as MAAS does.
func newClient(dial func(context.Context) (net.Conn, error), pair *tls.Certificate) *client {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	c := &client{http: &http.Client{Transport: t, Timeout: lentTimeout}, root: "http://lxd"}
	if pair != nil {
		c.root, t.TLSClientConfig = "https://lxd", &tls.Config{Certificates: []tls.Certificate{*pair}, InsecureSkipVerify: true}
	}
	return c
}

// call makes a call and waits for the operation that it may start. An error of LXD is an
// *lxdError.
func (c *client) call(method, path string, body, into any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(context.Background(), method, c.root+path, &sent)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, rest.MaxBody))
	if err != nil {
		return err
	}
	return c.readAnswer(path, text, into)
}

// readAnswer decodes an answer.
func (c *client) readAnswer(path string, text []byte, into any) error {
	var envelope api.ResponseRaw
	envelope.Metadata = into
	if err := json.Unmarshal(text, &envelope); err != nil {
		return fmt.Errorf("%s is not an answer of LXD: %w", path, err)
	}
	if envelope.Error != "" {
		return &lxdError{code: envelope.Code, text: strings.TrimSpace(envelope.Error)}
	}
	if envelope.Operation == "" {
		return nil
	}
	at, err := url.Parse(envelope.Operation)
	if err != nil {
		return err
	}
	at.Path += "/wait"
	var ended api.Operation
	if err := c.call(http.MethodGet, at.String(), nil, &ended); err != nil {
		return err
	}
	if ended.StatusCode != api.Success {
		return &lxdError{code: int(ended.StatusCode), text: ended.Err}
	}
	return nil
}

func inProject(path, project string) string { return path + "?project=" + url.QueryEscape(project) }
