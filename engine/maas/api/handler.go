package api

import (
	"context"
	"net/url"
)

// handler sends a request, usually by adding one thing and calling the next handler.
type handler func(ctx context.Context, r *Request) (*answer, error)

// newChain builds the chain of handlers. Everything below retry runs once per attempt: each
// attempt has its own deadline, log line and signature.
func newChain(c Config, base *url.URL, key apiKey, at *apiEndpoint) handler {
	h := newSendHandler(c.Transport, base, c.UserAgent)
	h = newCheckHandler(h, redactor{key: key}, at, c.Now)
	h = newSignHandler(h, key, c.Now)
	h = newLogHandler(h, c.Log, c.Now)
	h = newCallHandler(h, c.OnCall, c.Now)
	h = newDeadlineHandler(h)
	return newRetryHandler(h, c.Backoff, c.Now)
}
