package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
)

// explain makes one sentence and a way out of what went wrong.
func (s *session) explain(err error) error {
	if lost, ok := errors.AsType[*lostError](err); ok {
		cause := lost.err
		if s.ctx.Err() == nil {
			cause = s.explain(lost.err)
		}
		return &engine.Error{
			Type: engine.HostUnavailable, Message: fmt.Sprintf("the LXD at %s did not say what became of a change", s.target.address),
			Hint: "It is looked for before anything is repeated.", Err: fmt.Errorf("%w: %v", engine.ErrUnclear, cause),
		}
	}
	if settled(err) {
		return err
	}
	if change, ok := errors.AsType[*refusedChange](err); ok {
		return &engine.Error{
			Type: engine.VMCreationFailed, Message: fmt.Sprintf("the LXD at %s refuses the change: %s", s.target.address, words(change.Error())),
			Hint: fmt.Sprintf("See what the project allows: lxc project show %s. LXD's log on the host may tell more.", s.target.project), Err: engine.ErrInvalid,
		}
	}
	if failed, ok := errors.AsType[*failedError](err); ok {
		return &engine.Error{
			Type: engine.VMCreationFailed, Message: fmt.Sprintf("the LXD at %s says: %s", s.target.address, words(failed.words)),
			Hint: "See `lxc operation list`, and LXD's log on the host.",
		}
	}
	switch {
	case s.caller.Err() != nil:
		return s.target.givenUp(s.caller.Err())
	case s.ctx.Err() != nil:
		return s.target.silent(s.timeout)
	}
	if status, ok := api.StatusErrorMatch(err); ok {
		return s.refused(status, err)
	}
	return s.target.explain(err)
}

// settled tells that an error is in the engine's terms already.
func settled(err error) bool {
	_, known := errors.AsType[*engine.Error](err)
	_, wish := errors.AsType[*engine.SpecError](err)
	_, refusal := errors.AsType[*engine.Refusal](err)
	return known || wish || refusal || errors.Is(err, engine.ErrBusy) || errors.Is(err, engine.ErrUnavailable)
}

// refused explains a status, which LXD's own words go with. It says 404 for a
// project, a pool, a network that is not there, 409 and in places 400 for what
// is there already, 412 where somebody else has just changed the thing, and 500
// for much that a user could mend, too.
func (s *session) refused(status int, err error) error {
	refusal := func(kind error, hint string) error {
		return &engine.Error{
			Type: engine.VMCreationFailed, Err: kind, Hint: hint,
			Message: fmt.Sprintf("the LXD at %s answered %d: %s", s.target.address, status, words(err.Error())),
		}
	}
	switch status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return s.denied()
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
		return unavailable(fmt.Sprintf("the LXD at %s answered %d (%s)", s.target.address, status, http.StatusText(status)),
			"It may be starting or stopping: see LXD's log on the host.")
	}
	return refusal(engine.ErrUnavailable, "See LXD's log on the host.")
}

// denied tells a certificate that LXD does not know from one that may not use
// the project. LXD says 403 to both.
func (s *session) denied() error {
	var info api.Server
	if _, err := s.get("/1.0", &info); err != nil {
		return s.explain(notStatus(err))
	}
	if !IsTrusted(&info) {
		return s.target.untrusted()
	}
	return s.target.missing(api.StatusErrorf(http.StatusForbidden, "%s", s.target.project))
}

// notStatus keeps a second refusal from being asked about a third time.
func notStatus(err error) error {
	if _, ok := api.StatusErrorMatch(err); ok {
		return errNotLXD
	}
	return err
}

// maxWords bounds what is passed on of LXD's words, in bytes.
const maxWords = 400

// words makes one short line of what LXD said. Nothing that LXD is told of a VM
// is secret.
func words(text string) string { return bounded.Cut(bounded.OneLine(text), maxWords) }

// isStatus tells that LXD answered with a status.
func isStatus(err error, status int) bool { return api.StatusErrorCheck(err, status) }

// isLost tells that nobody knows whether a change was made.
func isLost(err error) bool {
	_, lost := errors.AsType[*lostError](err)
	return lost || errors.Is(err, context.DeadlineExceeded)
}
