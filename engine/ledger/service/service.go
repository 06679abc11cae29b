// Package service serves a ledger to the front ends of other machines. It speaks the protocol of
// engine/ledger/wire, over HTTP/2 with TLS 1.3.
//
// A client shows a certificate, and TLS proves that it has the key. The service checks each
// request by itself (access.Register): who the client is, whether its certificate still counts,
// and what it may do. So a refused client gets a reason. A revoked client is refused even on an
// open connection.
//
// A write has the id of its call. The service does it once, however often it is sent, because it
// keeps the answer for resends. Rows keep the id as their token. So this holds for reservations
// even after a restart of the service.
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

// Config has what a service needs. Ledger, Clients and Signers must be set.
type Config struct {
	Ledger  *ledger.Ledger
	Clients *access.Register
	// Signers are the authorities that may have signed the certificates of clients.
	Signers *x509.CertPool
	Version string           // of the program, for messages
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // Info: a line for each write; Debug: for each read
	// CheckAvailable returns why the service may not do calls now; nil: it does all calls. With
	// ErrUnavailable a client asks another node.
	CheckAvailable func() error
	// IsLeader reports whether this node leads its cluster; nil: there is no cluster.
	IsLeader func() bool
	// OnAnswered is called after each request; nil: it is not called.
	OnAnswered func(AnsweredRequest)
}

// AnsweredRequest is a request that was answered.
type AnsweredRequest struct {
	Operation string // "unknown" for an unknown path
	Client    string // empty: the client is unknown
	Outcome   string // "ok", or the reason of the error
	Resent    bool   // the service had the answer already
	Took      time.Duration
}

// Service is an http.Handler. Serve it over TLS that asks for client certificates: NewServer.
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

// The time of a call whose client names none, and the longest time of a call.
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
	_, _ = w.Write(body) // a client that does not read it asks again
}

// request is a request that the service works on.
type request struct {
	operation
	service *Service
	client  access.Client
	body    []byte // the call as it was sent
	call    wire.Call
	id      string
	resent  bool
}

// answerRequest checks and does a request, and returns its answer.
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
		// The node hung, or the call waited for its turn for too long. By now the client has
		// asked another node, so an old write must not change what has happened since.
		return errorAnswer(wire.ErrShuttingDown)
	}
	// A write continues if the connection breaks. The client sends it again, and gets the answer
	// then.
	ctx, cancel = context.WithDeadline(context.WithoutCancel(r.Context()), deadline)
	defer cancel()
	answer, resent := s.replies.answerOnce(ctx, c.client.Name+" "+c.id, c.Name+" "+string(c.body), func() wire.Answer { return c.execute(ctx) })
	c.resent = resent
	return answer
}

// identify finds the client and the operation of a request.
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

// readCall reads the call of a request, and checks that the client may make it.
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

// peerCertificates returns the certificates that the client showed.
func peerCertificates(r *http.Request) []*x509.Certificate {
	if r.TLS == nil {
		return nil
	}
	return r.TLS.PeerCertificates
}

// parseTimeout returns how long the client waits, from its header.
func parseTimeout(header string) time.Duration {
	ms, err := strconv.ParseInt(header, 10, 64)
	if err != nil || ms <= 0 {
		return defaultTimeout
	}
	return min(time.Duration(min(ms, maxTimeout.Milliseconds()))*time.Millisecond, maxTimeout)
}

// isCallID reports whether a text can be the id of a call, and so the token of a row.
func isCallID(text string) bool {
	if len(text) < 16 || len(text) > 64 {
		return false
	}
	return !strings.ContainsFunc(text, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-'
	})
}

// checkProtocol refuses a client with another protocol than this service.
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
