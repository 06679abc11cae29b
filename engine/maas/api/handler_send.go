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
	// maxErrorBody bounds how much of an error answer is read.
	maxErrorBody = 64 << 10
)

// answerLimits bound an answer. A machine in MAAS takes 15 to 30 KB, with one object per 90
// bytes and one value per 22. So an answer with 2,000 machines fits.
var answerLimits = bounded.Limits{Bytes: 64 << 20, Objects: 800_000, Values: 3_000_000}

// newSendHandler does the HTTP exchange. An error is always an *Error with Status 0.
func newSendHandler(transport http.RoundTripper, base *url.URL, userAgent string) handler {
	return func(ctx context.Context, r *Request) (*answer, error) {
		var t trace
		req, err := r.httpRequest(t.attach(ctx), base, userAgent)
		if err != nil {
			return nil, notSentError(ctx, r, base, err)
		}
		if ctx.Err() != nil {
			return nil, notSentError(ctx, r, base, ctx.Err())
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			return nil, t.exchangeError(ctx, r, base, err)
		}
		defer res.Body.Close()
		body, err := readBody(res)
		if err != nil {
			return nil, lostAnswerError(ctx, r, base, err)
		}
		return &answer{res.StatusCode, res.Header, body}, nil
	}
}

// httpRequest builds the request of one attempt.
func (r *Request) httpRequest(ctx context.Context, base *url.URL, userAgent string) (*http.Request, error) {
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
		// If a kept connection breaks, net/http itself repeats a GET without a body, with a
		// nonce that MAAS may have used. It does not repeat a request with an empty body
		// that it cannot rewind.
		req.Body = io.NopCloser(strings.NewReader(""))
	}
	return req, nil
}

// readBody does not read a 401: MAAS repeats the token's secret in it.
func readBody(res *http.Response) ([]byte, error) {
	if res.StatusCode == http.StatusUnauthorized {
		return nil, nil
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	}
	return bounded.ReadAll(res.Body, answerLimits)
}

// trace learns from net/http whether a request got a connection. Another transport does not
// report that, and then a request counts as sent.
type trace struct{ wantedConn, gotConn atomic.Bool }

func (t *trace) attach(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { t.wantedConn.Store(true); t.gotConn.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { t.gotConn.Store(true) },
	})
}

func (t *trace) exchangeError(ctx context.Context, r *Request, base *url.URL, err error) *Error {
	if t.wantedConn.Load() && !t.gotConn.Load() || isDialError(err) {
		return notSentError(ctx, r, base, err)
	}
	return lostAnswerError(ctx, r, base, err)
}
