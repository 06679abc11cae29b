package api

import (
	"context"
	"net/url"
)

// handler does a request, mostly by adding its one thing and calling the next.
type handler func(ctx context.Context, r *Request) (*answer, error)

// newChain puts the handlers together. Everything below retry is done once a
// try: each has a deadline, a line in the log and a signature of its own.
func newChain(c Config, base *url.URL, key apiKey, at *apiEndpoint) handler {
	h := newSendHandler(c.Transport, base, c.UserAgent)
	h = newCheckHandler(h, redactor{key: key}, at, c.Now)
	h = newSignHandler(h, key, c.Now)
	h = newLogHandler(h, c.Log, c.Now)
	h = newCallHandler(h, c.OnCall, c.Now)
	h = newDeadlineHandler(h)
	return newRetryHandler(h, c.Backoff, c.Now)
}
