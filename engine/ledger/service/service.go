// Package service serves a ledger to the front ends of other machines: what
// engine/ledger/wire defines, over HTTP/2 with TLS 1.3.
//
// A client shows a certificate. TLS proves that it has the key, and each request is
// judged by itself (access.Register): who it is, whether its certificate counts at that
// moment, and what it may touch. So a client is told why it is refused, and one that is
// revoked is refused on a connection that is open, too.
//
// A write has the id of its call. It is done once, however often it is sent: the answer
// is kept for the sendings that follow, and rows keep the id as their token, so that
// this holds for reservations when the service was started anew meanwhile.
package service

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// Config is what a service works with.
type Config struct {
	Ledger  *ledger.Ledger
	Clients *access.Register
	// Signers are whose signatures under the certificates of clients count.
	Signers *x509.CertPool
	Version string           // of the program, for people
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // Info: a line for each write; Debug: for each read
	// Available says why no call is served now; nil: each is. An error is one of another
	// node's to do better, ErrUnavailable.
	Available func() error
	// Leads tells whether this node leads its cluster; nil: it is in none.
	Leads func() bool
	// Done is told of each request that was answered; nil: nobody is.
	Done func(Request)
}

// Request is a request that was answered.
type Request struct {
	Operation string // "unknown" if it is none
	Client    string // empty: nobody that is known
	Outcome   string // "ok", or why not
	Resent    bool   // it was answered before
	Took      time.Duration
}

// Service is an http.Handler. It wants to be served over TLS that asks for the client's
// certificate.
type Service struct {
	Config
	operations map[string]operation
	replies    replies
	turns      turns
}

// New makes a service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{Config: c, operations: operations(), replies: replies{byCall: map[string]*reply{}}}
}

// How long a call may take whose client does not say it, and at most.
const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 2 * time.Minute
)

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	w.Header().Set(wire.HeaderProtocol, wire.Version())
	if s.Leads != nil {
		w.Header().Set(wire.HeaderLeads, strconv.FormatBool(s.Leads()))
	}
	c := &request{operation: operation{Operation: wire.Operation{Name: "unknown"}}, service: s}
	answer := s.answer(c, r)
	s.record(r.Context(), c, answer, time.Since(began))
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.Error.Status())
	_, _ = w.Write(body) // who does not read it asks again
}

// request is a request on its way through the service.
type request struct {
	operation
	service *Service
	client  access.Client
	body    []byte // the call as it was sent
	call    wire.Call
	id      string
	resent  bool
}

// answer does what a request asks for.
func (s *Service) answer(c *request, r *http.Request) wire.Answer {
	timeout := timeoutOf(r.Header.Get(wire.HeaderTimeout))
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	defer cancel()
	if err := s.identify(ctx, c, r); err != nil {
		return failed(err)
	}
	if s.Available != nil {
		if err := s.Available(); err != nil {
			return failed(err)
		}
	}
	giveBack, err := s.turns.take(ctx, c.client.Name)
	if err != nil {
		return failed(err)
	}
	defer giveBack()
	if err := s.read(c, r); err != nil {
		return failed(err)
	}
	if !c.Writes {
		return c.do(ctx)
	}
	if r.Context().Err() != nil || !time.Now().Before(deadline) {
		// The node hung, or the call waited for its turn for too long, and the client has
		// asked another node. A write of then must not touch what has come since.
		return failed(wire.ErrEnding)
	}
	// A write goes on where the connection breaks: the client sends it again, and gets
	// the answer then.
	ctx, cancel = context.WithDeadline(context.WithoutCancel(r.Context()), deadline)
	defer cancel()
	answer, resent := s.replies.once(ctx, c.client.Name+" "+c.id, c.Name+" "+string(c.body), func() wire.Answer { return c.do(ctx) })
	c.resent = resent
	return answer
}

// identify finds out who asks, and for which operation.
func (s *Service) identify(ctx context.Context, c *request, r *http.Request) (err error) {
	name, ok := strings.CutPrefix(r.URL.Path, wire.Path)
	if found, known := s.operations[name]; ok && known {
		c.operation = found
	}
	if c.client, err = s.Clients.Identify(ctx, certificates(r), s.Signers, s.Now()); err != nil {
		return err
	}
	if err := checkProtocol(r.Header.Get(wire.HeaderProtocol), s.Version); err != nil {
		return err
	}
	if c.serve == nil || r.Method != http.MethodPost {
		return invalid(fmt.Sprintf("the ledger service has no operation %s %s", r.Method, bounded.Cut(bounded.OneLine(r.URL.Path), 100)))
	}
	c.id = r.Header.Get(wire.HeaderCall)
	if c.Writes && !isID(c.id) {
		return invalid("a write has no id by which it can be sent again")
	}
	return nil
}

// read finds out what is asked for, and whether the client may.
func (s *Service) read(c *request, r *http.Request) (err error) {
	if c.body, err = bounded.ReadAll(r.Body, wire.CallLimits); err != nil {
		return invalid(fmt.Sprintf("the call cannot be read: %v", err))
	}
	if err := json.Unmarshal(c.body, &c.call); err != nil {
		return invalid(fmt.Sprintf("the call cannot be understood: %v", err))
	}
	if err := c.mayCall(); err != nil {
		return err
	}
	return checkBounds(c.call)
}

// certificates are those that the client showed.
func certificates(r *http.Request) []*x509.Certificate {
	if r.TLS == nil {
		return nil
	}
	return r.TLS.PeerCertificates
}

// timeoutOf is how long a client waits, by its header.
func timeoutOf(header string) time.Duration {
	ms, err := strconv.ParseInt(header, 10, 64)
	if err != nil || ms <= 0 {
		return defaultTimeout
	}
	return min(time.Duration(min(ms, maxTimeout.Milliseconds()))*time.Millisecond, maxTimeout)
}

// isID tells whether a text may be a row's token.
func isID(text string) bool {
	if len(text) < 16 || len(text) > 64 {
		return false
	}
	return !strings.ContainsFunc(text, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-'
	})
}

// checkProtocol refuses clients that know other fields than this service.
func checkProtocol(theirs, version string) error {
	difference := map[wire.Mismatch]string{
		wire.Newer:   "the client is newer than the ledger service",
		wire.Older:   "the client is older than the ledger service",
		wire.Another: "client and ledger service are different builds of one version",
		wire.None:    "the client speaks no protocol of a ledger",
	}[wire.Compare(theirs)]
	if difference == "" {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("%s, which is capi-bridge %s", difference, version),
		Hint:    "Take the same version for both.", Err: engine.ErrConflict,
	}
}

func failed(err error) wire.Answer { return wire.Answer{Error: wire.FromError(err)} }

func invalid(message string) error {
	return &engine.Refusal{Message: message, Hint: "Take the same version of client and service.", Err: engine.ErrInvalid}
}
