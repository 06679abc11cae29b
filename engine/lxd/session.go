package lxd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	client "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// session is a connection to one LXD for one operation. It ends with the operation: LXD's
// client uses the ctx that it was made with for every call.
type session struct {
	ctx       context.Context // of the operation, with its deadline
	callerCtx context.Context
	conn      client.InstanceServer
	target    target
	timeout   time.Duration
}

// dialer opens sessions with the fleet's key pair. If a server is listed without a
// fingerprint, it pins the first certificate that the server shows.
type dialer struct {
	prober      *Prober
	credentials func(context.Context) (engine.Credentials, error)
	now         func() time.Time
	pins        sync.Map // address to fingerprint, of servers that are listed without one
}

// openSession prepares a session with a server. Call done when you are finished.
func (d *dialer) openSession(ctx context.Context, server Server, timeout time.Duration) (s *session, done func(), err error) {
	address, err := hostPort(server.Address)
	if err != nil {
		return nil, nil, err
	}
	pair, err := d.credentials(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot get the key pair for the LXD of %s: %w", server.Name, err)
	}
	key, err := fleetkey.Parse(pair.Certificate, pair.Key, d.now())
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	s = &session{ctx: limited, callerCtx: ctx, timeout: timeout, target: target{
		address: address, project: cmp.Or(server.Project, defaultProject), key: key, pinned: fleetkey.NormalFingerprint(server.Fingerprint),
	}}
	if err := d.pinCertificate(s); err != nil {
		err = s.explainError(err)
		cancel()
		return nil, nil, hostError(err, server.Name)
	}
	if s.conn, err = d.prober.connect(limited, s.target, s.target.pinned); err != nil {
		err = s.explainError(err)
		cancel()
		return nil, nil, hostError(err, server.Name)
	}
	return s, cancel, nil
}

// pinCertificate reads the certificate of a server that is listed without a fingerprint. A
// listed fingerprint is not remembered: if the server is later listed without one, its
// certificate may be another one.
func (d *dialer) pinCertificate(s *session) error {
	if s.target.pinned != "" {
		d.pins.Delete(s.target.address)
		return nil
	}
	if seen, ok := d.pins.Load(s.target.address); ok {
		s.target.pinned = seen.(string)
		return nil
	}
	shown, err := d.prober.learnFingerprint(s.ctx, s.target.address)
	if err != nil {
		return err
	}
	first, _ := d.pins.LoadOrStore(s.target.address, shown)
	s.target.pinned = first.(string)
	return nil
}

// forgetUnlisted forgets the pinned certificates of servers that are no longer listed.
func (d *dialer) forgetUnlisted(servers []Server) {
	d.pins.Range(func(address, _ any) bool {
		if !slices.ContainsFunc(servers, func(s Server) bool { at, err := hostPort(s.Address); return err == nil && at == address }) {
			d.pins.Delete(address)
		}
		return true
	})
}

// hostError adds the host to an error.
func hostError(err error, host string) error {
	e, ok := err.(*engine.Error) // text around a wrapped error stays
	if !ok || e.Host != "" {
		return err
	}
	copied := *e
	copied.Host = host
	return &copied
}

// projectQuery returns the URL of a path below /1.0, with the project and query.
func (s *session) projectQuery(query url.Values, path ...string) string {
	query.Set("project", s.target.project)
	at := "/1.0"
	for _, part := range path {
		at += "/" + url.PathEscape(part)
	}
	return at + "?" + query.Encode()
}

// projectPath returns the URL of a path below /1.0 in the project.
func (s *session) projectPath(path ...string) string { return s.projectQuery(url.Values{}, path...) }

// readRetryPause is the pause before a read is repeated.
const readRetryPause = 100 * time.Millisecond

// get reads a path. It reads once more after a 500 of LXD: LXD 5.0 fails when it is asked
// for its resources several times at once.
func (s *session) get(path string, into any) (etag string, err error) {
	answer, etag, err := s.conn.RawQuery(http.MethodGet, path, nil, "")
	if isStatus(err, http.StatusInternalServerError) {
		select {
		case <-s.ctx.Done():
		case <-time.After(readRetryPause):
		}
		answer, etag, err = s.conn.RawQuery(http.MethodGet, path, nil, "")
	}
	if err != nil {
		return "", err
	}
	return etag, answer.MetadataAsStruct(into)
}

// send sends a change, and waits until LXD has done it. Whether an answer is an operation
// depends on the version, so send checks the answer. From LXD 6.6, changes of profiles and
// volumes are operations; from 6.8, also those of pools and networks.
func (s *session) send(method, path string, body any, etag string) error {
	answer, _, err := s.conn.RawQuery(method, path, body, etag)
	switch {
	case err != nil && mayHaveArrived(err):
		return &unclearError{err}
	case err != nil:
		return err
	case answer.Type != api.AsyncResponse:
		return nil
	}
	op, err := answer.MetadataAsOperation()
	if err != nil {
		return &unclearError{err}
	}
	return s.waitOperation(op.ID)
}

// refusalPauses are the pauses between attempts of a refused change. LXD gives the same
// answer for a change that it always refuses and for an instance that is still stopping.
// Stop hooks may run for some seconds after LXD shows the instance as stopped.
var refusalPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// sendChange writes an object that was just read. If LXD refuses, the error is a
// *changeRefusedError.
func sendChange(s *session, path string, body any, etag string) error {
	err := s.send(http.MethodPut, path, body, etag)
	for _, pause := range refusalPauses {
		if !mayBeBusy(err) {
			break
		}
		select {
		case <-s.ctx.Done():
			return err
		case <-time.After(pause):
		}
		err = s.send(http.MethodPut, path, body, etag)
	}
	if mayBeBusy(err) || isStatus(err, http.StatusBadRequest) || isStatus(err, http.StatusForbidden) {
		return &changeRefusedError{err}
	}
	return err
}

// mayBeBusy reports an error that LXD has for a busy instance, and for many other causes.
func mayBeBusy(err error) bool {
	_, failed := errors.AsType[*operationError](err)
	return failed || isStatus(err, http.StatusInternalServerError)
}

// changeRefusedError says that LXD refuses to change an object that it has just shown.
type changeRefusedError struct{ err error }

func (e *changeRefusedError) Error() string { return e.err.Error() }
func (e *changeRefusedError) Unwrap() error { return e.err }

// waitOperation waits for the end of an operation.
func (s *session) waitOperation(id string) error {
	deadline, _ := s.ctx.Deadline()
	left := max(1, int(time.Until(deadline).Seconds()))
	var op api.Operation
	_, err := s.get("/1.0/operations/"+url.PathEscape(id)+"/wait?timeout="+strconv.Itoa(left), &op)
	switch {
	case err != nil:
		return &unclearError{err}
	case !op.StatusCode.IsFinal():
		return &unclearError{context.DeadlineExceeded}
	case op.StatusCode != api.Success:
		return &operationError{op.Err}
	}
	return nil
}

// unclearError says that it is unknown whether a change was made.
type unclearError struct{ err error }

func (e *unclearError) Error() string { return e.err.Error() }
func (e *unclearError) Unwrap() error { return e.err }

// operationError is an operation that failed, with LXD's text.
type operationError struct{ message string }

func (e *operationError) Error() string { return e.message }

// mayHaveArrived reports whether a request without an answer may have had its effect.
func mayHaveArrived(err error) bool {
	if _, ok := api.StatusErrorMatch(err); ok {
		return false
	}
	if _, ok := errors.AsType[*otherCertificateError](err); ok {
		return false
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return !ok || dial.Op != "dial"
}
