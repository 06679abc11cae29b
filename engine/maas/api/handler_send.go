package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/maaslxd/maaslxd/engine/bounded"
)

const (
	// maxErrorBody bounds what is read of a refusal.
	maxErrorBody = 64 << 10
)

// limits bound what is read of an answer. A machine of MAAS's takes 15 to 30 KB,
// with an object in 90 bytes and a value in 22: a thousand of them fit twice.
var limits = bounded.Limits{Bytes: 64 << 20, Objects: 800_000, Values: 3_000_000}

// sending does the HTTP exchange. An error is always an *Error with Status 0.
func sending(transport http.RoundTripper, base *url.URL, userAgent string) handler {
	return func(ctx context.Context, r *Request) (*answer, error) {
		var t trace
		req, err := r.http(t.watch(ctx), base, userAgent)
		if err != nil {
			return nil, notSent(ctx, r, base, err)
		}
		if ctx.Err() != nil {
			return nil, notSent(ctx, r, base, ctx.Err())
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			return nil, t.explain(ctx, r, base, err)
		}
		defer res.Body.Close()
		body, err := readBody(res)
		if err != nil {
			return nil, lost(ctx, r, base, err)
		}
		return &answer{res.StatusCode, res.Header, body}, nil
	}
}

// http builds the request of one try.
func (r *Request) http(ctx context.Context, base *url.URL, userAgent string) (*http.Request, error) {
	u, err := base.Parse(r.path)
	if err != nil {
		return nil, err
	}
	u.RawQuery = r.Query.Encode()
	var body io.Reader
	if r.Form != nil {
		body = strings.NewReader(r.Form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "application/json")
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	switch {
	case r.Form != nil:
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case r.method == http.MethodGet:
		// net/http sends a GET without a body again by itself when a kept
		// connection breaks, with the nonce that MAAS may have taken already.
		// With an empty body that cannot be rewound it leaves that to us.
		req.Body = io.NopCloser(strings.NewReader(""))
	}
	return req, nil
}

// readBody reads no 401: MAAS repeats the token's secret in it.
func readBody(res *http.Response) ([]byte, error) {
	if res.StatusCode == http.StatusUnauthorized {
		return nil, nil
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	}
	return bounded.ReadAll(res.Body, limits)
}

// trace learns from net/http whether a connection was had. Another transport
// tells nothing, and then a request counts as sent.
type trace struct{ asked, got atomic.Bool }

func (t *trace) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { t.asked.Store(true); t.got.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { t.got.Store(true) },
	})
}

func (t *trace) explain(ctx context.Context, r *Request, base *url.URL, err error) *Error {
	if t.asked.Load() && !t.got.Load() || isDialError(err) {
		return notSent(ctx, r, base, err)
	}
	return lost(ctx, r, base, err)
}
