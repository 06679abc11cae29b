package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// newCheckHandler turns every answer that is no success into an *Error. It decides by
// status and media type, never by text.
func newCheckHandler(next handler, redact redactor, at *apiEndpoint, now func() time.Time) handler {
	return func(ctx context.Context, r *Request) (*answer, error) {
		a, err := next(ctx, r)
		if err != nil {
			return nil, redactedError(r, err, redact)
		}
		if a.isForeign() {
			return nil, at.foreignAnswerError(r, a.status)
		}
		if a.status < http.StatusMultipleChoices {
			at.hasAnswered.Store(true)
			return a, nil
		}
		return nil, refusalError(r, a, redact, now())
	}
}

// redactedError removes secrets from the error of a failed exchange.
func redactedError(r *Request, err error, redact redactor) error {
	e, ok := AsError(err)
	if !ok {
		return err
	}
	e.Message = redact.redactLine(r, e.Message)
	if r.SecretAnswer && !e.neverSent && e.Err == nil {
		e.Message = "the connection broke before the answer arrived" // net/http may quote the answer
	}
	if e.isTerminal {
		return engine.MarkTerminal(e)
	}
	return e
}

// isForeign reports an answer that does not come from a MAAS: its API has no HTML pages and
// no redirects. A 401 comes from MAAS even as text/html. MAAS's nginx answers 413 and 5xx
// with a page.
func (a *answer) isForeign() bool {
	switch {
	case a.status >= 300 && a.status < 400:
		return true
	case a.status >= 500, a.status == http.StatusUnauthorized, a.status == http.StatusRequestEntityTooLarge,
		a.status == http.StatusRequestTimeout, a.status == http.StatusTooManyRequests:
		return false
	}
	return a.mediaType() == "text/html" || a.status == http.StatusBadRequest && a.mediaType() == ""
}

// apiEndpoint is the MAAS that the client calls.
type apiEndpoint struct {
	hasAnswered atomic.Bool // a MAAS has answered the client before
}

// foreignAnswerError is the error for an answer that does not come from MAAS. It says
// nothing about the requested object, whatever the status. If no MAAS has answered before,
// the address is wrong, and repeating does not help. Otherwise it is a proxy's page, and
// temporary.
func (p *apiEndpoint) foreignAnswerError(r *Request, status int) error {
	if p.hasAnswered.Load() {
		return ForeignAnswerError(r, status)
	}
	return engine.MarkTerminal(ForeignAnswerError(r, status))
}

// ForeignAnswerError is the error for an answer that does not come from a MAAS.
func ForeignAnswerError(r *Request, status int) *Error {
	e := NewError(r, status, "this is not the answer of a MAAS API")
	if status == http.StatusNotFound {
		e.Message = "there is no MAAS API at this address"
	}
	e.Hint = "Check api_url: scheme (an HTTPS port asked over http, or a redirect to https, answers like this), host, port and path, as in http://maas.example.com:5240/MAAS."
	e.Kind, e.isTransient = engine.ErrUnavailable, false
	return e
}

// refusalError is the error for an answer of MAAS, or of the proxy before it, that is no
// success.
func refusalError(r *Request, a *answer, redact redactor, now time.Time) *Error {
	e := NewError(r, a.status, fmt.Sprintf("MAAS answered %d %s", a.status, http.StatusText(a.status)))
	e.Unclear = !r.isIdempotent() && (a.status == http.StatusBadGateway || a.status == http.StatusGatewayTimeout)
	e.MediaType, e.FieldMessages = a.mediaType(), fieldMessages(r, a, redact)
	if said := messageOf(r, a, redact, e.FieldMessages); said != "" {
		e.Message = said
	}
	switch a.status {
	case http.StatusUnauthorized:
		e.Message = "MAAS refused the API key"
		e.Hint = "Check that api_key is whole and was not deleted in MAAS" + clockHint(a.header, now) + "."
	case http.StatusForbidden:
		explainForbidden(e, len(a.body) == 0)
	case http.StatusGone:
		e.Message = "this MAAS has no VM hosts: they were removed after MAAS 3.8"
	case http.StatusRequestEntityTooLarge:
		e.Message = "the request is larger than MAAS's web server accepts"
		e.Hint = "Make the user-data smaller, or let it fetch its larger parts."
	}
	return e
}

func explainForbidden(e *Error, silent bool) {
	e.Hint = "Use the API key of an administrator."
	if silent {
		e.Message = "MAAS does not permit this: the machine is locked, or belongs to another user"
		e.Hint = "Unlock the machine, or use the API key of its owner or of an administrator."
	}
}

// clockHint mentions the clock if it is the likely cause: MAAS refuses timestamps that are
// more than 300 s old.
func clockHint(header http.Header, now time.Time) string {
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil || theirs.Sub(now) < 4*time.Minute {
		return ", and that this machine's clock is right"
	}
	return fmt.Sprintf("; this machine's clock is %s behind MAAS's, and MAAS accepts 5 minutes", theirs.Sub(now).Round(time.Second))
}

// fieldMessages reads the JSON of a form error: by field, a list of messages or one
// message.
func fieldMessages(r *Request, a *answer, redact redactor) map[string][]string {
	var raw map[string]any
	if r.SecretAnswer || a.mediaType() != "application/json" || json.Unmarshal(a.body, &raw) != nil {
		return nil
	}
	fields := map[string][]string{}
	for name, value := range raw {
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, message := range list {
			if text, ok := message.(string); ok {
				key := redact.redactLine(r, name)
				fields[key] = append(fields[key], redact.redactLine(r, text))
			}
		}
	}
	return fields
}

// messageOf returns MAAS's text. Pages are not MAAS's.
func messageOf(r *Request, a *answer, redact redactor, fields map[string][]string) string {
	if len(fields) > 0 {
		return Shorten(joinFieldMessages(fields))
	}
	if r.SecretAnswer {
		return ""
	}
	switch a.mediaType() {
	case "text/plain", "application/json":
		return redact.redactLine(r, string(a.body))
	}
	return ""
}
