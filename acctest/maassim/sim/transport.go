package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// errReset and errLostReply are the two ways to end a connection without a reply.
var (
	errReset     = fmt.Errorf("simulated: %w", syscall.ECONNRESET)
	errLostReply = fmt.Errorf("simulated: the reply is lost: %w", io.ErrUnexpectedEOF)
)

// RoundTripper reaches the simulator without sockets, whatever the host name in the URL.
// It uses only the clock of package time, so it works inside a testing/synctest bubble.
func (s *Sim) RoundTripper() http.RoundTripper { return roundTripper{s} }

type roundTripper struct{ sim *Sim }

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	in, err := serverRequest(r)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(in.URL.Path, steerRoot) {
		return withRequest(httpResponse(t.sim.answerSteering(in), r.Method), r), nil
	}
	rep, err := t.sim.exchangeCall(in)
	if err != nil {
		return nil, err
	}
	return withRequest(httpResponse(rep, r.Method), r), nil
}

func withRequest(resp *http.Response, r *http.Request) *http.Response {
	resp.Request = r
	return resp
}

// serverRequest converts a client's request into the form that a server sees.
func serverRequest(r *http.Request) (*http.Request, error) {
	in := r.Clone(r.Context())
	in.Host = cmp.Or(r.Host, r.URL.Host)
	in.RequestURI = r.URL.RequestURI()
	if r.Body == nil {
		return in, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	in.Body = io.NopCloser(bytes.NewReader(body))
	return in, nil
}

func httpResponse(rep rest.Reply, method string) *http.Response {
	h := rep.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", rep.Kind)
	body := rep.Body
	if rep.Status == http.StatusNoContent || method == http.MethodHead {
		body = nil
	}
	return &http.Response{
		StatusCode: rep.Status, Status: fmt.Sprintf("%d %s", rep.Status, http.StatusText(rep.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// breakConnection ends an HTTP connection without a reply: by a reset for errReset, else
// by a plain close.
func breakConnection(rw http.ResponseWriter, err error) {
	if errors.Is(err, syscall.ECONNRESET) {
		if conn, _, err := http.NewResponseController(rw).Hijack(); err == nil {
			if tcp, isTCP := conn.(*net.TCPConn); isTCP {
				_ = tcp.SetLinger(0) // close sends RST
			}
			_ = conn.Close() // nothing was written
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// pauseCall waits, or ends early with the client or the world.
func pauseCall(w *world.World, ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-w.Done:
		return errLostReply
	case <-ctx.Done():
		return ctx.Err()
	}
}
