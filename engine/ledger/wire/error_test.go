package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestErrorsKeepTheirType: an error arrives at the client as it was in the service.
func TestErrorsKeepTheirType(t *testing.T) {
	t.Parallel()
	noRoom := &engine.Error{Type: engine.InsufficientResources, Host: "h1", Message: "no room", Hint: "Add a host."}
	full := &engine.Refusal{Message: "there is no space left", Hint: "Make room.", Err: engine.ErrUnavailable, Everywhere: true}
	cases := map[string]struct {
		reason string
		err    error
		is     error // errors.Is finds it
		as     any   // errors.AsType finds an equal value
		status int
	}{
		"Nil":      {reason: "No error stays no error.", status: 200},
		"Busy":     {reason: "Callers try again.", err: fmt.Errorf("web-1 waits: %w", engine.ErrBusy), is: engine.ErrBusy, status: 409},
		"NotFound": {reason: "Absence is no failure.", err: engine.ErrNotFound, is: engine.ErrNotFound, status: 404},
		"Conflict": {reason: "No try helps.", err: fmt.Errorf("x: %w", engine.ErrConflict), is: engine.ErrConflict, status: 409},
		"Deadline": {reason: "The caller's time is over.", err: context.DeadlineExceeded, is: context.DeadlineExceeded, status: 504},
		"Held":     {reason: "People are told by whom.", err: fmt.Errorf("no: %w", &engine.HeldError{Key: "ci/web-1", By: "process 7"}), is: engine.ErrConflict, as: &engine.HeldError{Key: "ci/web-1", By: "process 7"}, status: 409},
		"NoRoom":   {reason: "Callers match its type.", err: noRoom, as: noRoom, status: 409},
		"Caused":   {reason: "A cause is kept.", err: &engine.Error{Type: engine.HostUnavailable, Message: "away", Err: engine.ErrUnavailable}, is: engine.ErrUnavailable, status: 503},
		"Refusal":  {reason: "The way out comes along.", err: full, is: engine.ErrUnavailable, as: full, status: 503},
		"Unknown":  {reason: "What has no sentinel is a text.", err: errors.New("disk I/O error"), status: 500},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := FromError(tc.err)
			if got := sent.Status(); got != tc.status {
				t.Errorf("status %d, want %d", got, tc.status)
			}
			text, err := json.Marshal(Answer{Error: sent})
			if err != nil {
				t.Fatal(err)
			}
			var answer Answer
			if err := json.Unmarshal(text, &answer); err != nil {
				t.Fatal(err)
			}
			got := answer.Error.Err()
			if (got == nil) != (tc.err == nil) || !errors.Is(got, tc.is) && tc.is != nil || engine.IsTerminal(got) != engine.IsTerminal(tc.err) {
				t.Errorf("%s\ngot %v of %s", tc.reason, got, text)
			}
			if tc.as != nil {
				if !reflect.DeepEqual(tc.as, typedError(got)) {
					t.Errorf("%s\ngot %#v, want %#v", tc.reason, typedError(got), tc.as)
				}
			} else if tc.err != nil && got.Error() != tc.err.Error() {
				t.Errorf("got %q, want %q", got, tc.err)
			}
		})
	}
}

// typedError returns the typed error in an error.
func typedError(err error) any {
	if e, ok := errors.AsType[*engine.HeldError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*engine.Error](err); ok {
		return e
	}
	e, _ := errors.AsType[*engine.Refusal](err)
	return e
}

func TestCompareProtocol(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]ProtocolDifference{
		ProtocolVersion(): SameProtocol, "2 abc": NewerProtocol, "0 abc": OlderProtocol, "1 abc": OtherFields, "": NoProtocol, "nginx": NoProtocol,
	} {
		if got := CompareProtocol(other); got != want {
			t.Errorf("%q: got %d, want %d", other, got, want)
		}
	}
}
