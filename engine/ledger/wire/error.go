package wire

import (
	"context"
	"errors"
	"net/http"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
)

// Error carries an error to the other side: its type, its sentinel and its cause.
type Error struct {
	Kind       Kind   `json:",omitempty"`
	Code       string `json:",omitempty"` // of the sentinel that it wraps
	Message    string
	Hint       string           `json:",omitempty"`
	Type       engine.ErrorType `json:",omitempty"`
	Host       string           `json:",omitempty"`
	Everywhere bool             `json:",omitempty"`
	Key        engine.Key       `json:",omitempty"`
	By         string           `json:",omitempty"`
	Cause      *Error           `json:",omitempty"`
}

// Kind is the Go type of an Error.
type Kind string

// The kinds. Any other error has only the code of its sentinel.
const (
	kindLXD      Kind = "lxd"     // *engine.Error
	kindRefusal  Kind = "refusal" // *engine.Refusal
	kindHeld     Kind = "held"    // *engine.HeldError
	kindSentinel Kind = "bare"    // the sentinel itself
)

// ErrShuttingDown says that the service ends and has not done the call. The client may send the
// call again, to the next process.
var ErrShuttingDown = errors.New("the service is ending")

// sentinels are the errors that errors.Is finds on both sides, with the HTTP status of their
// answers.
var sentinels = []struct {
	code   string
	err    error
	status int
}{
	{"ending", ErrShuttingDown, http.StatusServiceUnavailable},
	{"deadline", context.DeadlineExceeded, http.StatusGatewayTimeout},
	{"cancelled", context.Canceled, http.StatusServiceUnavailable},
	{"not-found", engine.ErrNotFound, http.StatusNotFound},
	{"busy", engine.ErrBusy, http.StatusConflict},
	{"conflict", engine.ErrConflict, http.StatusConflict},
	{"gone", engine.ErrGone, http.StatusGone},
	{"forbidden", engine.ErrForbidden, http.StatusForbidden},
	{"other-server", engine.ErrOtherServer, http.StatusForbidden},
	{"invalid", engine.ErrInvalid, http.StatusBadRequest},
	{"unavailable", engine.ErrUnavailable, http.StatusServiceUnavailable},
	{"unclear", engine.ErrUnclear, http.StatusServiceUnavailable},
}

// maxCauses limits how deep the causes of an error are sent.
const maxCauses = 3

// FromError makes an Error from an error; nil stays nil.
func FromError(err error) *Error { return fromError(err, maxCauses) }

func fromError(err error, deeper int) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Code: sentinelCode(err), Message: err.Error()}
	var (
		failure *engine.Error
		refusal *engine.Refusal
		held    *engine.HeldError
		cause   error
	)
	switch {
	case isSentinel(err):
		e.Kind = kindSentinel
	case errors.As(err, &held):
		e.Kind, e.Key, e.By = kindHeld, held.Key, held.By
	case errors.As(err, &failure):
		e.Kind, e.Message, e.Hint, e.Type, e.Host = kindLXD, failure.Message, failure.Hint, failure.Type, failure.Host
		cause = failure.Err
	case errors.As(err, &refusal):
		e.Kind, e.Message, e.Hint, e.Everywhere = kindRefusal, refusal.Message, refusal.Hint, refusal.Everywhere
		cause = refusal.Err
	}
	if cause != nil && deeper > 0 {
		e.Cause = fromError(cause, deeper-1)
	}
	return e
}

// sentinelCode returns the code of the first sentinel that an error wraps.
func sentinelCode(err error) string {
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.code
		}
	}
	return ""
}

// isSentinel reports whether an error is itself a sentinel, and wraps none.
func isSentinel(err error) bool {
	for _, s := range sentinels {
		if err == s.err { //nolint:errorlint // an error that wraps it is no sentinel
			return true
		}
	}
	return false
}

// Status returns the HTTP status of an answer with this error.
func (e *Error) Status() int {
	if e == nil {
		return http.StatusOK
	}
	for _, s := range sentinels {
		if e.Code == s.code {
			return s.status
		}
	}
	if e.Kind == kindLXD {
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// IsFinal reports whether the same call would get this answer again. It would not if the service
// gave up or cannot serve now: a cluster without a leader soon gets one.
func (e *Error) IsFinal() bool {
	switch e.Code {
	case "ending", "deadline", "cancelled", "unavailable":
		return false
	}
	return true
}

// Err returns the error as it was on the other side; nil for nil. It makes the texts safe for
// terminals.
func (e *Error) Err() error {
	if e == nil {
		return nil
	}
	message, hint := safeLine(e.Message), safeLine(e.Hint)
	switch e.Kind {
	case kindHeld:
		return &engine.HeldError{Key: e.Key, By: safeLine(e.By)}
	case kindLXD:
		return &engine.Error{Type: e.Type, Host: e.Host, Message: message, Hint: hint, Err: e.Cause.Err()}
	case kindRefusal:
		return &engine.Refusal{Message: message, Hint: hint, Everywhere: e.Everywhere, Err: e.Cause.Err()}
	}
	for _, s := range sentinels {
		switch {
		case e.Code != s.code:
		case e.Kind == kindSentinel:
			return s.err
		default:
			return &remoteError{message, s.err}
		}
	}
	return &remoteError{message, nil}
}

// remoteError has the text of an error of the other side, and its sentinel.
type remoteError struct {
	message  string
	sentinel error
}

func (t *remoteError) Error() string { return t.message }

func (t *remoteError) Unwrap() error { return t.sentinel }

// maxTextBytes is the longest text of the other side that is shown, in bytes.
const maxTextBytes = 2000

func safeLine(text string) string { return bounded.TruncateText(bounded.OneLine(text), maxTextBytes) }
