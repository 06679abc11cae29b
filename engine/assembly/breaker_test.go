package assembly_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// breakage is a way in which one call goes wrong.
type breakage struct {
	name     string
	after    bool // the call takes effect first
	underWay bool // the call is under way when it breaks, and takes effect later
	// deadly breakages end the process: it makes no further call.
	deadly bool
	// cancels ends the run's ctx, before the call or after its effect. Calls that the engine
	// makes independent of that ctx continue.
	cancels bool
	// breaks makes the answer; die ends the process that made the call.
	breaks func(r *http.Request, die context.CancelFunc) (*http.Response, error)
}

var errReset = errors.New("connection reset by peer")

func answer503(r *http.Request, _ context.CancelFunc) (*http.Response, error) {
	return &http.Response{
		Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body:   io.NopCloser(strings.NewReader("Unable to connect to any rack controller ; no connections available.")),
	}, nil
}

func resetConnection(*http.Request, context.CancelFunc) (*http.Response, error) { return nil, errReset }

func hangUntilCancelled(r *http.Request, _ context.CancelFunc) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func killProcess(_ *http.Request, die context.CancelFunc) (*http.Response, error) {
	die()
	return nil, context.Canceled
}

// writesOnly: a call that only reads has no effect before or after which it
// could break.
func (b breakage) writesOnly() bool { return b.after || b.underWay }

// breaker breaks the call number nth, counted from 1, and passes the others.
// Where only writes can break in its way, only they count.
type breaker struct {
	next http.RoundTripper
	nth  int
	with breakage
	die  context.CancelFunc

	// compose is called at the first compose, before it is sent; may be nil.
	compose func()

	mu    sync.Mutex
	calls int
	sent  []string // methods
	dead  bool     // its process has died: nothing leaves it any more
	hit   string   // the call that was broken
}

// RoundTrip implements http.RoundTripper.
func (b *breaker) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	if b.dead {
		b.mu.Unlock()
		return nil, context.Canceled
	}
	counts := r.Method != http.MethodGet || !b.with.writesOnly()
	if counts {
		b.calls++
	}
	b.sent = append(b.sent, r.Method)
	if b.compose != nil && r.URL.Query().Get("op") == "compose" {
		b.compose()
		b.compose = nil
	}
	broken := counts && b.calls == b.nth
	b.dead = broken && b.with.deadly
	if broken {
		b.hit = r.Method + " " + r.URL.RequestURI()
	}
	b.mu.Unlock()
	if !broken {
		return b.next.RoundTrip(r)
	}
	if b.with.underWay {
		cut, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		defer cancel()
		b.sendUnanswered(r.WithContext(cut))
	}
	if b.with.cancels {
		return b.cancel(r)
	}
	if b.with.after {
		res, err := b.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return nil, err
		}
		if err := res.Body.Close(); err != nil {
			return nil, err
		}
	}
	return b.with.breaks(r, b.die)
}

// sendUnanswered sends a call for a process that does not see the answer. Over a compose MAAS
// takes long, so it is under way when begin returns. Any other call has taken effect by then. A
// deploy that comes after a release acquires the machine anew, and MAAS has no token that could
// prevent it.
func (b *breaker) sendUnanswered(r *http.Request) {
	compose := r.URL.Query().Get("op") == "compose"
	away, answered := make(chan struct{}), make(chan struct{})
	leave := sync.OnceFunc(func() { close(away) })
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }}
	go func() {
		defer close(answered)
		defer leave()
		if res, err := b.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace))); err == nil {
			res.Body.Close() //nolint:errcheck // nobody reads it
		}
	}()
	if !compose {
		<-answered
		return
	}
	if _, wire := b.next.(*http.Transport); wire {
		<-away
	}
	time.Sleep(time.Millisecond)
}

// cancel ends the run's ctx around a call.
func (b *breaker) cancel(r *http.Request) (*http.Response, error) {
	if !b.with.after {
		b.die()
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return b.next.RoundTrip(r)
	}
	res, err := b.next.RoundTrip(r)
	b.die()
	if ended := r.Context().Err(); ended != nil && err == nil {
		res.Body.Close() //nolint:errcheck // nobody reads it
		return nil, ended
	}
	return res, err
}

func (b *breaker) brokenCall() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hit
}
