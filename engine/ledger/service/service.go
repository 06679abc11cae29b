// Package service serves a ledger to the front ends of other machines. The
// protocol is that of engine/ledger/wire, over HTTP/2 with TLS 1.3.
//
// A client shows a certificate, and TLS proves that it has the key. Each
// request is checked by itself (access.Register): who the client is, whether
// its certificate counts now, and what it may touch. So a refused client is
// told why. A revoked client is refused even on an open connection.
//
// A write has the id of its call. It is done once, however often it is sent,
// because the answer is kept for resends. Rows keep the id as their token. So
// this holds for reservations even after a restart of the service.
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
	// CheckAvailable says why no call is served now; nil: each is. An error is one of another
	// node's to do better, ErrUnavailable.
	CheckAvailable func() error
	// IsLeader tells whether this node leads its cluster; nil: it is in none.
	IsLeader func() bool
	// OnAnswered is told of each request that was answered; nil: nobody is.
	OnAnswered func(AnsweredRequest)
}

// AnsweredRequest is a request that was answered.
type AnsweredRequest struct {
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
	replies    replyCache
	turns      clientTurns
}

// New makes a service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{Config: c, operations: operationsByName(), replies: replyCache{byCall: map[string]*reply{}}}
}

// How long a call may take whose client does not say it, and at most.
const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 2 * time.Minute
)

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	w.Header().Set(wire.HeaderProtocol, wire.ProtocolVersion())
	if s.IsLeader != nil {
		w.Header().Set(wire.HeaderLeads, strconv.FormatBool(s.IsLeader()))
	}
	c := &request{operation: operation{Operation: wire.Operation{Name: "unknown"}}, service: s}
	answer := s.answerRequest(c, r)
	s.reportRequest(r.Context(), c, answer, time.Since(began))
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

// answerRequest does what a request asks for.
func (s *Service) answerRequest(c *request, r *http.Request) wire.Answer {
	timeout := parseTimeout(r.Header.Get(wire.HeaderTimeout))
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	defer cancel()
	if err := s.identify(ctx, c, r); err != nil {
		return errorAnswer(err)
	}
	if s.CheckAvailable != nil {
		if err := s.CheckAvailable(); err != nil {
			return errorAnswer(err)
		}
	}
	giveBack, err := s.turns.waitForTurn(ctx, c.client.Name)
	if err != nil {
		return errorAnswer(err)
	}
	defer giveBack()
	if err := s.readCall(c, r); err != nil {
		return errorAnswer(err)
	}
	if !c.Writes {
		return c.execute(ctx)
	}
	if r.Context().Err() != nil || !time.Now().Before(deadline) {
		// The node hung, or the call waited for its turn for too long, and the client has
		// asked another node. A write of then must not touch what has come since.
		return errorAnswer(wire.ErrShuttingDown)
	}
	// A write goes on where the connection breaks: the client sends it again, and gets
	// the answer then.
	ctx, cancel = context.WithDeadline(context.WithoutCancel(r.Context()), deadline)
	defer cancel()
	answer, resent := s.replies.answerOnce(ctx, c.client.Name+" "+c.id, c.Name+" "+string(c.body), func() wire.Answer { return c.execute(ctx) })
	c.resent = resent
	return answer
}

// identify finds out who asks, and for which operation.
func (s *Service) identify(ctx context.Context, c *request, r *http.Request) (err error) {
	name, ok := strings.CutPrefix(r.URL.Path, wire.PathPrefix)
	if found, known := s.operations[name]; ok && known {
		c.operation = found
	}
	if c.client, err = s.Clients.Identify(ctx, peerCertificates(r), s.Signers, s.Now()); err != nil {
		return err
	}
	if err := checkProtocol(r.Header.Get(wire.HeaderProtocol), s.Version); err != nil {
		return err
	}
	if c.run == nil || r.Method != http.MethodPost {
		return invalidCallError(fmt.Sprintf("the ledger service has no operation %s %s", r.Method, bounded.TruncateText(bounded.OneLine(r.URL.Path), 100)))
	}
	c.id = r.Header.Get(wire.HeaderCall)
	if c.Writes && !isCallID(c.id) {
		return invalidCallError("a write has no id by which it can be sent again")
	}
	return nil
}

// readCall finds out what is asked for, and whether the client may.
func (s *Service) readCall(c *request, r *http.Request) (err error) {
	if c.body, err = bounded.ReadAll(r.Body, wire.CallLimits); err != nil {
		return invalidCallError(fmt.Sprintf("the call cannot be read: %v", err))
	}
	if err := json.Unmarshal(c.body, &c.call); err != nil {
		return invalidCallError(fmt.Sprintf("the call cannot be understood: %v", err))
	}
	if err := c.checkCall(); err != nil {
		return err
	}
	return checkBounds(c.call)
}

// peerCertificates are those that the client showed.
func peerCertificates(r *http.Request) []*x509.Certificate {
	if r.TLS == nil {
		return nil
	}
	return r.TLS.PeerCertificates
}

// parseTimeout is how long a client waits, by its header.
func parseTimeout(header string) time.Duration {
	ms, err := strconv.ParseInt(header, 10, 64)
	if err != nil || ms <= 0 {
		return defaultTimeout
	}
	return min(time.Duration(min(ms, maxTimeout.Milliseconds()))*time.Millisecond, maxTimeout)
}

// isCallID tells whether a text may be a row's token.
func isCallID(text string) bool {
	if len(text) < 16 || len(text) > 64 {
		return false
	}
	return !strings.ContainsFunc(text, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-'
	})
}

// checkProtocol refuses clients that know other fields than this service.
func checkProtocol(theirs, version string) error {
	difference := map[wire.ProtocolDifference]string{
		wire.NewerProtocol: "the client is newer than the ledger service",
		wire.OlderProtocol: "the client is older than the ledger service",
		wire.OtherFields:   "client and ledger service are different builds of one version",
		wire.NoProtocol:    "the client speaks no protocol of a ledger",
	}[wire.CompareProtocol(theirs)]
	if difference == "" {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("%s, which is capi-bridge %s", difference, version),
		Hint:    "Take the same version for both.", Err: engine.ErrConflict,
	}
}

func errorAnswer(err error) wire.Answer { return wire.Answer{Error: wire.FromError(err)} }

func invalidCallError(message string) error {
	return &engine.Refusal{Message: message, Hint: "Take the same version of client and service.", Err: engine.ErrInvalid}
}
