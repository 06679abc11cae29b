package lxd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
)

// explainError turns the failure of a read into one sentence and a way out.
func (t target) explainError(err error) error {
	if _, ok := errors.AsType[*engine.Error](err); ok {
		return err
	}
	if other, ok := errors.AsType[*otherCertificateError](err); ok {
		return t.certificateChangedError(other)
	}
	if status, ok := api.StatusErrorMatch(err); ok {
		return t.statusError(status)
	}
	return unavailableError(t.explainUnreachable(err))
}

func unavailableError(message, hint string) error {
	return &engine.Error{Type: engine.HostUnavailable, Message: message, Hint: hint, Err: engine.ErrUnavailable}
}

func forbiddenError(message, hint string) error {
	return &engine.Error{Type: engine.HostUnavailable, Message: message, Hint: hint, Err: engine.ErrForbidden}
}

// givenUpError is the error of a read that its caller ended.
func (t target) givenUpError(cause error) error {
	return fmt.Errorf("given up before the LXD at %s answered: %w", t.address, cause)
}

func (t target) timeoutError(timeout time.Duration) error {
	return unavailableError(fmt.Sprintf("the LXD at %s did not answer within %s", t.address, timeout),
		"Check that this machine reaches that address and port, also through firewalls; or let MAAS alone reach the hosts.")
}

// isTimeout reports whether a deadline ended a connection. The connection's timer may run
// out a moment before the context that set it.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

func (t target) certificateChangedError(e *otherCertificateError) error {
	return &engine.Error{
		Type:    engine.HostUnavailable,
		Message: fmt.Sprintf("the LXD at %s shows the certificate %s, but is known by %s", t.address, e.shown, e.pinned),
		Hint: fmt.Sprintf("If LXD was installed again there, or its certificate renewed, compare what `lxc info` says on the host as certificate_fingerprint, "+
			"and accept it: server_fingerprint = %q. Otherwise something else answers at that address: nothing was sent to it.", e.shown),
		Err: engine.ErrOtherServer,
	}
}

func (t target) clientUntrustedError() error {
	return forbiddenError(
		engine.UntrustedText(t.address, t.key.Fingerprint),
		fmt.Sprintf("On the host, trust it: lxc config trust add FILE.crt --restricted --projects %s. %s "+
			"Or give the pair that the host trusts as lxd_client_cert and lxd_client_key.", t.project, engine.CertificateFileHint))
}

// projectMissingError reports a project that does not exist, or that this certificate may
// not see. It returns other errors as they are. LXD answers 404 or 403, depending on its
// version.
func (t target) projectMissingError(err error) error {
	if !api.StatusErrorCheck(err, http.StatusNotFound, http.StatusForbidden) {
		return err
	}
	return &engine.Error{
		Type:    engine.ProjectNotFound,
		Message: fmt.Sprintf("the LXD at %s has no project %q that the client certificate %s may see", t.address, t.project, t.key.Fingerprint),
		Hint: fmt.Sprintf("On the host, create it (lxc project create %s), and add it to the projects of the certificate (lxc config trust edit %.12s).",
			t.project, t.key.Fingerprint),
	}
}

// OldestVersion is the oldest LXD on which VMs can be made.
const OldestVersion = "5.0"

func (t target) versionTooOldError(version, extension string) error {
	return &engine.Error{
		Type:    engine.HostUnavailable,
		Message: fmt.Sprintf("LXD %s at %s is too old: LXD %s or newer is needed (it lacks the API extension %s)", version, t.address, OldestVersion, extension),
		Hint:    fmt.Sprintf("Install LXD %s or newer on the host (snap refresh lxd --channel=5.21/stable).", OldestVersion),
		Err:     engine.ErrInvalid,
	}
}

// statusError is the error of a call that LXD itself refused. It does not quote LXD's text.
func (t target) statusError(status int) error {
	message := fmt.Sprintf("the LXD at %s answered %d (%s)", t.address, status, http.StatusText(status))
	if status == http.StatusForbidden || status == http.StatusUnauthorized {
		return forbiddenError(message, fmt.Sprintf("See on the host what the certificate %.12s may do: lxc config trust show %.12s.",
			t.key.Fingerprint, t.key.Fingerprint))
	}
	return unavailableError(message, "See LXD's log on the host; it may be starting or stopping.")
}

// explainUnreachable explains a call without an answer from LXD.
func (t target) explainUnreachable(err error) (message, hint string) {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "cannot find the address of " + dns.Name, "Check the name, and this machine's DNS."
	}
	failed, exchange := errors.AsType[*url.Error](err)
	switch {
	case !exchange, errors.Is(err, errNotLXD): // an answer came, but not from an LXD
		return fmt.Sprintf("the server at %s is not an LXD", t.address), "Check host and port: LXD listens on 8443 unless told otherwise (core.https_address)."
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s: connection refused", t.address),
			"LXD may still be starting, or core.https_address is not set there."
	}
	return fmt.Sprintf("cannot speak with the LXD at %s: %v", t.address, failed.Err), // without Go's method and URL
		"LXD may be starting or stopping. Check address and port, and that TLS 1.3 is spoken there."
}

// explainError turns an error into one sentence and a way out.
func (s *session) explainError(err error) error {
	if lost, ok := errors.AsType[*unclearError](err); ok {
		cause := lost.err
		if s.ctx.Err() == nil {
			cause = s.explainError(lost.err)
		}
		return &engine.Error{
			Type: engine.HostUnavailable, Message: fmt.Sprintf("the LXD at %s did not say what became of a change", s.target.address),
			Hint: "It is looked for before anything is repeated.", Err: fmt.Errorf("%w: %v", engine.ErrUnclear, cause),
		}
	}
	if isExplained(err) {
		return err
	}
	if change, ok := errors.AsType[*changeRefusedError](err); ok {
		return &engine.Error{
			Type: engine.VMCreationFailed, Message: fmt.Sprintf("the LXD at %s refuses the change: %s", s.target.address, shortMessage(change.Error())),
			Hint: fmt.Sprintf("See what the project allows: lxc project show %s. LXD's log on the host may tell more.", s.target.project), Err: engine.ErrInvalid,
		}
	}
	if failed, ok := errors.AsType[*operationError](err); ok {
		return &engine.Error{
			Type: engine.VMCreationFailed, Message: fmt.Sprintf("the LXD at %s says: %s", s.target.address, shortMessage(failed.message)),
			Hint: "See `lxc operation list`, and LXD's log on the host.",
		}
	}
	switch {
	case s.callerCtx.Err() != nil:
		return s.target.givenUpError(s.callerCtx.Err())
	case s.ctx.Err() != nil, isTimeout(err):
		return s.target.timeoutError(s.timeout)
	}
	if status, ok := api.StatusErrorMatch(err); ok {
		return s.refusedStatusError(status, err)
	}
	return s.target.explainError(err)
}

// isExplained reports whether an error is already one of the engine's types.
func isExplained(err error) bool {
	_, known := errors.AsType[*engine.Error](err)
	_, wish := errors.AsType[*engine.SpecError](err)
	_, refusal := errors.AsType[*engine.Refusal](err)
	return known || wish || refusal || errors.Is(err, engine.ErrBusy) || errors.Is(err, engine.ErrUnavailable)
}

// refusedStatusError explains a status, and quotes LXD's text. LXD answers 404 for a
// missing project, pool or network, and 409, sometimes 400, for something that already
// exists. It answers 412 if someone else has just changed the object. It also answers 500
// to much that a user could correct.
func (s *session) refusedStatusError(status int, err error) error {
	refusal := func(kind error, hint string) error {
		return &engine.Error{
			Type: engine.VMCreationFailed, Err: kind, Hint: hint,
			Message: fmt.Sprintf("the LXD at %s answered %d: %s", s.target.address, status, shortMessage(err.Error())),
		}
	}
	switch status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return s.accessDeniedError()
	case http.StatusBadRequest:
		return refusal(engine.ErrInvalid, "LXD refuses the value: see what the project and the profile allow there.")
	case http.StatusNotFound:
		return refusal(engine.ErrNotFound, "It was there a moment ago, or is in another project: see `lxc list` and `lxc project list` on the host.")
	case http.StatusConflict:
		return refusal(engine.ErrConflict, "Remove what is there on the host, or choose another name.")
	case http.StatusPreconditionFailed:
		return refusal(engine.ErrBusy, "Somebody else has just changed it: try again.")
	case http.StatusNotImplemented:
		return refusal(engine.ErrInvalid, "This LXD does not have that: use LXD 5.0 to 5.21, or one that its API still serves.")
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return unavailableError(fmt.Sprintf("the LXD at %s answered %d (%s)", s.target.address, status, http.StatusText(status)),
			"It may be starting or stopping: see LXD's log on the host.")
	}
	return refusal(engine.ErrUnavailable, "See LXD's log on the host.")
}

// accessDeniedError distinguishes a certificate that LXD does not know from one that may
// not use the project. LXD answers 403 to both.
func (s *session) accessDeniedError() error {
	var info api.Server
	if _, err := s.get("/1.0", &info); err != nil {
		return s.explainError(hideStatus(err))
	}
	if !IsTrusted(&info) {
		return s.target.clientUntrustedError()
	}
	return s.target.projectMissingError(api.StatusErrorf(http.StatusForbidden, "%s", s.target.project))
}

// hideStatus prevents a third request about a second refusal.
func hideStatus(err error) error {
	if _, ok := api.StatusErrorMatch(err); ok {
		return errNotLXD
	}
	return err
}

// maxMessageBytes bounds a quoted text of LXD.
const maxMessageBytes = 400

// shortMessage makes one short line of LXD's text. LXD knows no secrets of a VM, so the
// text is not redacted.
func shortMessage(text string) string {
	return bounded.TruncateText(bounded.OneLine(text), maxMessageBytes)
}

// isStatus reports whether LXD answered with this status.
func isStatus(err error, status int) bool { return api.StatusErrorCheck(err, status) }

// isUnclear reports whether it is unknown if a change was made.
func isUnclear(err error) bool {
	_, lost := errors.AsType[*unclearError](err)
	return lost || errors.Is(err, context.DeadlineExceeded)
}
