package lxd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	client "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared"
	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine/bounded"
)

// answerLimits bound an answer of LXD. An instance in a list takes about 5 KB, with one
// object per 100 bytes and one value per 30. So 2,000 instances fit.
var answerLimits = bounded.Limits{Bytes: 16 << 20, Objects: 200_000, Values: 800_000}

var (
	errLearned = errors.New("the certificate is known now")
	errNotLXD  = errors.New("not the answer of an LXD")
)

// learnFingerprint starts a TLS handshake and ends it when the server has shown its
// certificate. It sends no request and no client certificate.
func (p *Prober) learnFingerprint(ctx context.Context, address string) (fingerprint string, err error) {
	seen := make(chan string, 1)
	t := &http.Transport{Proxy: p.proxy, TLSClientConfig: shared.InitTLSConfig(), DisableKeepAlives: true}
	prepareTransport(ctx, t, func(fingerprint string) error {
		select {
		case seen <- fingerprint:
		default:
		}
		return errLearned
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address, nil)
	if err != nil {
		return "", err
	}
	if _, err := (&http.Client{Transport: t}).Do(r); !errors.Is(err, errLearned) {
		return "", err
	}
	return <-seen, nil
}

// connect prepares a connection that serves one operation and ends with its ctx.
func (p *Prober) connect(ctx context.Context, t target, pin string) (client.InstanceServer, error) {
	return client.ConnectLXDWithContext(ctx, "https://"+t.address, &client.ConnectionArgs{
		TLSClientCert: t.key.Certificate,
		TLSClientKey:  t.key.Key,
		UserAgent:     p.userAgent,
		Proxy:         p.proxy,
		SkipGetServer: true,
		TransportWrapper: func(base *http.Transport) client.HTTPTransporter {
			base.DisableKeepAlives = false // one handshake for all calls
			prepareTransport(ctx, base, requireFingerprint(pin))
			return lxdTransport{base}
		},
	})
}

// prepareTransport makes the transport check the server's certificate only by fingerprint,
// before it sends anything. It also makes it dial with Go's own dialer, and no connection
// outlives ctx. The LXD client's dialer would continue a handshake for which no caller
// waits. So would Go's when it keeps connections.
func prepareTransport(ctx context.Context, t *http.Transport, judge func(fingerprint string) error) {
	t.DialTLSContext = nil
	t.DialContext = func(_ context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
	// LXD's certificates are self-signed, and name the host as it was called when LXD first
	// started. Comparing the whole certificate is stricter than the check that is skipped
	// here: no authority can vouch for another one.
	t.TLSClientConfig.InsecureSkipVerify = true
	t.TLSClientConfig.VerifyConnection = func(s tls.ConnectionState) error {
		sum := sha256.Sum256(s.PeerCertificates[0].Raw)
		return judge(hex.EncodeToString(sum[:]))
	}
}

// requireFingerprint accepts only the certificate with this fingerprint.
func requireFingerprint(pin string) func(fingerprint string) error {
	return func(fingerprint string) error {
		if fingerprint != pin {
			return &otherCertificateError{pinned: pin, shown: fingerprint}
		}
		return nil
	}
}

// otherCertificateError says that a server shows another certificate than the pinned one.
// Both fields are fingerprints.
type otherCertificateError struct{ pinned, shown string }

func (e *otherCertificateError) Error() string {
	return fmt.Sprintf("the server shows the certificate %s instead of %s", e.shown, e.pinned)
}

// lxdTransport reads answers completely, so that the connection can be reused. It accepts
// only what LXD answers to a request: JSON of a bounded size, and no redirect.
type lxdTransport struct{ base *http.Transport }

// Transport implements client.HTTPTransporter.
func (t lxdTransport) Transport() *http.Transport { return t.base }

// RoundTrip implements http.RoundTripper.
func (t lxdTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := bounded.ReadAll(answer.Body, answerLimits)
	if errors.Is(err, bounded.ErrTooLarge) {
		return nil, errNotLXD
	}
	if err != nil {
		return nil, err
	}
	redirects := answer.StatusCode/100 == 3
	if redirects || !isLXDAnswer(body) {
		return nil, errNotLXD
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// isLXDAnswer reports whether the body is in the envelope of LXD's answers.
func isLXDAnswer(body []byte) bool {
	var envelope api.Response
	if err := json.Unmarshal(body, &envelope); err != nil {
		return false
	}
	return envelope.Type == api.SyncResponse || envelope.Type == api.AsyncResponse || envelope.Type == api.ErrorResponse
}
