package maas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

var sentinels = map[string]error{
	"ErrNotFound": engine.ErrNotFound, "ErrConflict": engine.ErrConflict, "ErrBusy": engine.ErrBusy,
	"ErrGone": engine.ErrGone, "ErrForbidden": engine.ErrForbidden, "ErrInvalid": engine.ErrInvalid,
	"ErrUnavailable": engine.ErrUnavailable, "ErrUnclear": engine.ErrUnclear,
}

// errorKinds lists the sentinels that an error matches, sorted.
func errorKinds(err error) string {
	var names []string
	for _, name := range []string{
		"ErrNotFound", "ErrConflict", "ErrBusy", "ErrGone", "ErrForbidden", "ErrInvalid", "ErrUnavailable", "ErrUnclear",
	} {
		if errors.Is(err, sentinels[name]) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func TestErrorOfEachStatus(t *testing.T) {
	t.Parallel()
	const html = "<html><body>nginx says secretPart00000000000000003</body></html>"
	cases := map[string]struct {
		reason     string
		status     int
		kind, body string
		want       string // sentinels
		message    string // part of the message
		hint       string // part of the hint
		terminal   bool
	}{
		"Form": {"A form error names fields.", 400, "application/json; charset=utf-8",
			`{"hwe_kernel":["no such kernel"],"__all__":["wrong state"]}`, "ErrInvalid", "wrong state; hwe_kernel: no such kernel", "", true},
		"SingleMessage": {"Some handlers give a string for a list.", 400, "application/json", `{"domain":"Unable to find it"}`,
			"ErrInvalid", "domain: Unable to find it", "", true},
		"Text": {"Everything else is plain text.", 400, "text/plain; charset=utf-8", "Deployment operating\n system is unavailable.",
			"ErrInvalid", "Deployment operating system is unavailable.", "", true},
		"Unauthorized": {"The body repeats the secret and is not read.", 401, "text/html; charset=utf-8",
			"Authorization Error: 'Invalid signature. Expected signature base string: &secretPart00000000000000003'",
			"ErrForbidden", "MAAS refused the API key", "api_key", true},
		"NotAdmin": {"MAAS says so in words.", 403, "text/plain; charset=utf-8", "This method is reserved for admin users.",
			"ErrForbidden", "reserved for admin users", "administrator", true},
		"Locked": {"A state forbids without a word.", 403, "text/plain; charset=utf-8", "", "ErrForbidden", "locked", "Unlock", true},
		"NotFound": {"The machine is gone.", 404, "text/plain", "No Machine matches the given query.", "ErrNotFound",
			"No Machine matches the given query.", "", false},
		"Conflict": {"The state forbids it.", 409, "text/plain; charset=utf-8", "Can't deploy a machine that is in the 'New' state",
			"ErrConflict", "'New' state", "", true},
		"Gone":     {"VM hosts have been removed.", 410, "text/plain", "Gone", "ErrGone", "no VM hosts: they were removed after MAAS 3.8", "", true},
		"TooLarge": {"nginx refuses large bodies with a page.", 413, "text/html", html, "ErrInvalid", "larger", "user-data", true},
		"Internal": {"MAAS failed; nothing was saved.", 500, "text/plain; charset=utf-8", "Not enough storage space on storage pools: default",
			"ErrUnavailable", "Not enough storage space", "", false},
		"Busy": {"MAAS speaks, so the call was not applied.", 503, "text/plain; charset=utf-8", "another action is already in progress",
			"ErrUnavailable", "another action", "", false},
		"BadGateway":     {"A proxy lost MAAS's answer.", 502, "text/html", html, "ErrUnavailable ErrUnclear", "502 Bad Gateway", "", false},
		"GatewayTimeout": {"MAAS may go on.", 504, "text/html", html, "ErrUnavailable ErrUnclear", "504 Gateway Timeout", "", false},
		"HTMLNotFound": {"A proxy's 404 does not mean that a machine is gone.", 404, "text/html", html, "ErrUnavailable",
			"no MAAS API", "api_url", true},
		"HTMLOK":    {"A login page answers 200.", 200, "text/html; charset=utf-8", html, "ErrUnavailable", "not the answer of a MAAS", "api_url", true},
		"Redirect":  {"POST would become GET.", 301, "text/html", html, "ErrUnavailable", "not the answer of a MAAS", "https", true},
		"HTTPSPort": {"A TLS server's answer to http has no type.", 400, "", "Client sent an HTTP request to an HTTPS server.", "ErrUnavailable", "not the answer of a MAAS", "HTTPS", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testClient(t, newConstantFake(tc.status, tc.kind, tc.body))
			err := c.Machines.Deploy(t.Context(), "abc123", engine.Deployment{Image: "ubuntu/noble"})
			e, ok := api.AsError(err)
			if !ok {
				t.Fatalf("%s: got %v, want an *Error", tc.reason, err)
			}
			if got := errorKinds(err); got != tc.want {
				t.Errorf("%s: it is %s, want %s", tc.reason, got, tc.want)
			}
			if !strings.Contains(e.Message, tc.message) || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("%s: message %q, hint %q", tc.reason, e.Message, e.Hint)
			}
			if engine.IsTerminal(err) != tc.terminal {
				t.Errorf("%s: terminal is %v", tc.reason, !tc.terminal)
			}
			if want := "POST machines/{id}/?op=deploy"; !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "<html>") {
				t.Errorf("%s: text %q", tc.reason, err)
			}
		})
	}
}

func TestFieldsAreOfferedToTheEngine(t *testing.T) {
	t.Parallel()
	c := testClient(t, newConstantFake(400, "application/json", `{"cores":["Ensure this value is less than or equal to 2."],"memory":["a","b"]}`))
	_, err := c.Hosts.Compose(t.Context(), engine.VMHost{ID: 8}, engine.Composition{Hostname: "web1", Cores: 3, MemoryMiB: 1024})
	refused, ok := errors.AsType[engine.FieldError](err)
	if !ok {
		t.Fatalf("got %v, want a FieldError", err)
	}
	want := map[string][]string{"cores": {"Ensure this value is less than or equal to 2."}, "memory": {"a", "b"}}
	if diff := cmp.Diff(want, refused.Fields()); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestLongBodiesAreShortened(t *testing.T) {
	t.Parallel()
	c := testClient(t, newConstantFake(409, "text/plain", strings.Repeat("über ", 1000)))
	e, _ := api.AsError(c.Machines.Abort(t.Context(), "abc123"))
	if e == nil || len(e.Message) > api.MaxLine+len("…") || strings.ContainsRune(e.Message, '�') {
		t.Errorf("got %v", e)
	}
}

// unreadBody is a body that must not be read.
type unreadBody struct{ t *testing.T }

func (u unreadBody) Read([]byte) (int, error) {
	u.t.Error("the body of a 401 was read")
	return 0, io.EOF
}

func (u unreadBody) Close() error { return nil }

func TestBodyOfA401IsNotRead(t *testing.T) {
	t.Parallel()
	f := &fakeTransport{answer: func(*http.Request, sentRequest) (*http.Response, error) {
		res := reply(401, "text/plain", "")
		res.Body = unreadBody{t}
		return res, nil
	}}
	if err := testClient(t, f).Machines.Abort(t.Context(), "abc123"); errorKinds(err) != "ErrForbidden" {
		t.Errorf("got %v", err)
	}
}

func TestClockHint(t *testing.T) {
	t.Parallel()
	f := &fakeTransport{answer: func(*http.Request, sentRequest) (*http.Response, error) {
		res := reply(401, "text/html", "")
		res.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		return res, nil
	}}
	e, _ := api.AsError(testClient(t, f).Machines.Abort(t.Context(), "abc123"))
	if e == nil || !strings.Contains(e.Hint, "clock is 1h0m0s behind") && !strings.Contains(e.Hint, "clock is 59m59s behind") {
		t.Errorf("got %#v, want a hint at the clock", e)
	}
}

func TestDeadlineOfATryIsNotTheCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTransport{answer: func(req *http.Request, _ sentRequest) (*http.Response, error) {
			if err := pauseRequest(req, time.Hour); err != nil {
				return nil, err
			}
			return reply(200, "text/plain", "OK"), nil
		}}
		c := testClient(t, f)
		began := time.Now()
		err := c.Machines.Release(t.Context(), "abc123", engine.EraseNone)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %s, want a minute", took)
		}
		if got := errorKinds(err); got != "ErrUnavailable ErrUnclear" || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v (%s)", err, got)
		}
		if !strings.Contains(fmt.Sprint(err), "did not answer within 1m0s") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCallersCtxStaysRecognisable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTransport{answer: func(req *http.Request, _ sentRequest) (*http.Response, error) {
			return nil, pauseRequest(req, time.Hour)
		}}
		c := testClient(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := c.Machines.Release(ctx, "abc123", engine.EraseNone)
		if !errors.Is(err, context.DeadlineExceeded) || errorKinds(err) != "ErrUnclear" {
			t.Errorf("got %v (%s), want the ctx's end and ErrUnclear", err, errorKinds(err))
		}
		if err := c.Machines.Release(ctx, "abc123", engine.EraseNone); errorKinds(err) != "" || len(f.requests()) != 1 {
			t.Errorf("with a ctx that has ended: %v after %d requests, want nothing sent", err, len(f.requests()))
		}
	})
}

func TestTruncatedAnswerOfAPostIsUnclear(t *testing.T) {
	t.Parallel()
	c := testClient(t, newConstantFake(200, "application/json", `{"system_id": "abc`))
	_, err := c.Hosts.Compose(t.Context(), engine.VMHost{ID: 8}, engine.Composition{Hostname: "web1", Cores: 1, MemoryMiB: 1024})
	if got := errorKinds(err); got != "ErrUnavailable ErrUnclear" {
		t.Errorf("got %v (%s)", err, got)
	}
	c = testClient(t, newConstantFake(200, "application/json", `{}`))
	_, err = c.Hosts.Compose(t.Context(), engine.VMHost{ID: 8}, engine.Composition{Hostname: "web1", Cores: 1, MemoryMiB: 1024})
	if got := errorKinds(err); got != "ErrUnavailable ErrUnclear" {
		t.Errorf("without an id: got %v (%s)", err, got)
	}
}

func TestAnIDIsNeverEmpty(t *testing.T) {
	t.Parallel()
	f := newConstantFake(204, "text/plain", "")
	c := testClient(t, f)
	for _, id := range []string{"", ".", ".."} {
		if err := c.Hosts.Decompose(t.Context(), id); errorKinds(err) != "ErrInvalid" {
			t.Errorf("DELETE of %q: got %v, want ErrInvalid", id, err)
		}
	}
	if err := c.Hosts.Decompose(t.Context(), "a/b?c"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"DELETE machines/a%2Fb%3Fc/"}, f.routes()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
