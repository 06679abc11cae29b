package sim

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
)

// lentTimeout bounds a call of a real LXD.
const lentTimeout = time.Minute

// lxdClient calls a real LXD: as its administrator, or as MAAS does.
type lxdClient struct {
	http *http.Client
	root string
}

// lxdRefusal is an error that LXD answers.
type lxdRefusal struct {
	code int
	text string
}

// Error is LXD's own sentence.
func (r *lxdRefusal) Error() string { return r.text }

// newLXDClient speaks over connections of dial: with TLS where a pair is given,
// believing any certificate as MAAS does.
func newLXDClient(dial func(context.Context) (net.Conn, error), pair *tls.Certificate) *lxdClient {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	c := &lxdClient{http: &http.Client{Transport: t, Timeout: lentTimeout}, root: "http://lxd"}
	if pair != nil {
		c.root, t.TLSClientConfig = "https://lxd", &tls.Config{Certificates: []tls.Certificate{*pair}, InsecureSkipVerify: true}
	}
	return c
}

// do makes a call, and waits for the operation that it may start. A refusal is an
// *lxdRefusal.
func (c *lxdClient) do(method, path string, body, into any) error {
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
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return err
	}
	return c.read(path, text, into)
}

// read takes an answer apart.
func (c *lxdClient) read(path string, text []byte, into any) error {
	var envelope api.ResponseRaw
	envelope.Metadata = into
	if err := json.Unmarshal(text, &envelope); err != nil {
		return fmt.Errorf("%s is not the answer of an LXD: %w", path, err)
	}
	if envelope.Error != "" {
		return &lxdRefusal{code: envelope.Code, text: strings.TrimSpace(envelope.Error)}
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
	if err := c.do(http.MethodGet, at.String(), nil, &ended); err != nil {
		return err
	}
	if ended.StatusCode != api.Success {
		return &lxdRefusal{code: int(ended.StatusCode), text: ended.Err}
	}
	return nil
}

func inLXDProject(path, project string) string { return path + "?project=" + url.QueryEscape(project) }
