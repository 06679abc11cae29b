package api

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

var _ engine.FieldError = (*Error)(nil)

// Error is a request that MAAS refused, or that got no answer. errors.Is
// finds one of the engine's sentinels by the status:
//
//	400 and other 4xx   ErrInvalid
//	401, 403            ErrForbidden
//	404                 ErrNotFound
//	409                 ErrConflict
//	410                 ErrGone
//	none, 408, 429, 5xx ErrUnavailable
//
// It also finds ErrUnclear if a POST may have taken effect although the reply was lost. A
// call that ended with its ctx wraps the ctx's error, and is not ErrUnavailable.
type Error struct {
	Status  int    // of HTTP; 0 if there was no answer
	Method  string // "POST"
	Route   string // without ids: "machines/{id}/?op=deploy"
	Message string // one line, with MAAS's text where that is allowed
	Hint    string // what the user can do; may be empty
	// FieldMessages are MAAS's messages by parameter name. Messages that belong to no field
	// are under "__all__".
	FieldMessages map[string][]string
	Kind          error  // one of the engine's sentinels, or nil
	Unclear       bool   // the request may have taken effect
	Err           error  // the cause, may be nil
	MediaType     string // of the answer, as "text/plain"; empty if there was none

	neverSent   bool // the request certainly never left this machine
	isTransient bool // another attempt may succeed
	isTerminal  bool // only another configuration helps
}

// Error returns the message, the route and the status.
func (e *Error) Error() string {
	where := e.Method + " " + e.Route
	if e.Status != 0 {
		where += fmt.Sprintf(", status %d", e.Status)
	}
	return fmt.Sprintf("%s (%s)", e.Message, where)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the engine's sentinels: see Error.
func (e *Error) Is(target error) bool {
	return e.Kind != nil && target == e.Kind || e.Unclear && target == engine.ErrUnclear
}

// Fields returns MAAS's messages by parameter name.
func (e *Error) Fields() map[string][]string { return e.FieldMessages }

// Refuse turns the error into a refusal of this kind, which is not repeated.
func (e *Error) Refuse(kind error) { e.Kind, e.isTransient = kind, false }

// AsError returns the *Error in a chain.
func AsError(err error) (*Error, bool) { return errors.AsType[*Error](err) }

// IsStatus reports whether MAAS answered with this status.
func IsStatus(err error, status int) bool {
	e, ok := AsError(err)
	return ok && e.Status == status
}

// NewError returns the error of an answer with this status.
func NewError(r *Request, status int, message string) *Error {
	return &Error{
		Status: status, Method: r.method, Route: r.route, Message: message,
		Kind: kindOf(status), isTransient: isTransientStatus(status),
	}
}

func kindOf(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return engine.ErrForbidden
	case http.StatusNotFound:
		return engine.ErrNotFound
	case http.StatusConflict:
		return engine.ErrConflict
	case http.StatusGone:
		return engine.ErrGone
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return engine.ErrUnavailable
	}
	if status >= 400 && status < 500 {
		return engine.ErrInvalid
	}
	return engine.ErrUnavailable
}

// isTransientStatus reports a status that a proxy answers while MAAS restarts, or MAAS
// while a rack controller is away.
func isTransientStatus(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}

// joinFieldMessages joins the messages of the fields in the order of their names. A message
// that belongs to no field has no name before it.
func joinFieldMessages(fields map[string][]string) string {
	var said []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text := strings.Join(fields[name], " ")
		if name != AllFields {
			text = name + ": " + text
		}
		said = append(said, text)
	}
	return strings.Join(said, "; ")
}

// AllFields is MAAS's (Django's) name for messages that belong to no field.
const AllFields = "__all__"
