package api

import (
	"context"
	"net/url"
)

// handler does a request, mostly by adding its one thing and calling the next.
type handler func(ctx context.Context, r *Request) (*answer, error)

// newChain puts the handlers together. Everything below retry is done once a
// try: each has a deadline, a line in the log and a signature of its own.
func newChain(c Config, base *url.URL, key apiKey, at *place) handler {
	h := sending(c.Transport, base, c.UserAgent)
	h = checking(h, redactor{key: key}, at, c.Now)
	h = signing(h, key, c.Now)
	h = logging(h, c.Log, c.Now)
	h = telling(h, c.Called, c.Now)
	h = deadlines(h)
	return retrying(h, c.Backoff, c.Now)
}
