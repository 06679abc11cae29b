package service

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// testService is a service, and a client that may write "ci/" in "mark".
type testService struct {
	*Service
	client *x509.Certificate
	log    bytes.Buffer
}

func newTestService(t *testing.T) *testService {
	t.Helper()
	folder := t.TempDir()
	authority, err := access.OpenAuthority(folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := authority.IssueClient("ci", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	clients := access.NewRegister(folder)
	if _, err := clients.Add(t.Context(), "ci", access.Rights{Regions: []string{"mark"}, Prefix: "ci/"}, text, time.Now()); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	d := &testService{}
	if d.client, err = x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	rows := ledger.NewMemory(nil)
	t.Cleanup(func() { rows.Close() })
	d.Service = New(Config{Ledger: rows, Clients: clients, Signers: authority.Pool(), Version: "test", Log: slog.New(slog.NewJSONHandler(&d.log, nil))})
	return d
}

// sendCall sends a request like a client. change may make it invalid.
func (d *testService) sendCall(t *testing.T, o wire.Operation, call any, change func(*http.Request)) (int, wire.Answer) {
	t.Helper()
	body, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, wire.PathPrefix+o.Name, bytes.NewReader(body))
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{d.client}}
	r.Header.Set(wire.HeaderProtocol, wire.ProtocolVersion())
	r.Header.Set(wire.HeaderCall, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	var answer wire.Answer
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Header().Get(wire.HeaderProtocol) != wire.ProtocolVersion() {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return w.Code, answer
}

// TestBadRequests: requests that no client of ours sends are refused, and write nothing.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	row := wire.Call{Region: "mark", Row: &engine.Row{Key: "ci/web-1", HostKey: "h1", SystemID: "abc123"}}
	cases := map[string]struct {
		reason string
		call   any
		change func(*http.Request)
		status int
		says   string
	}{
		"Nobody":      {"Anybody may connect.", row, func(r *http.Request) { r.TLS.PeerCertificates = nil }, 403, "showed no certificate"},
		"NoTLS":       {"Nor is it served without TLS.", row, func(r *http.Request) { r.TLS = nil }, 403, "showed no certificate"},
		"NoProtocol":  {"It is no client of a ledger.", row, func(r *http.Request) { r.Header.Del(wire.HeaderProtocol) }, 409, "speaks no protocol of a ledger"},
		"NoOperation": {"It is not there.", row, func(r *http.Request) { r.URL.Path = "/metrics" }, 400, "has no operation POST /metrics"},
		"Get":         {"A link must not write.", row, func(r *http.Request) { r.Method = http.MethodGet }, 400, "has no operation GET"},
		"NoID":        {"It could not be sent again.", row, func(r *http.Request) { r.Header.Del(wire.HeaderCall) }, 400, "has no id"},
		"OddID":       {"It becomes a token of a row.", row, func(r *http.Request) { r.Header.Set(wire.HeaderCall, strings.Repeat("'", 20)) }, 400, "has no id"},
		"NoJSON":      {"It is no call.", []string{"x"}, nil, 400, "cannot be understood"},
		"NoRow":       {"There is nothing to bind.", wire.Call{Region: "mark"}, nil, 400, "lacks what it is about"},
		"NoRegion":    {"All regions are not one.", wire.Call{Row: row.Row}, nil, 403, `may not use the region ""`},
		"Many":        {"Small objects take much memory.", json.RawMessage("[" + strings.Repeat("{},", wire.CallLimits.Objects) + "{}]"), nil, 400, "larger than any real one"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestService(t)
			status, answer := d.sendCall(t, wire.OpBind, tc.call, tc.change)
			if status != tc.status || answer.Error == nil || !strings.Contains(answer.Error.Message, tc.says) || answer.Error.Hint == "" {
				t.Errorf("%s\nstatus %d: %+v, want %d: %q", tc.reason, status, answer.Error, tc.status, tc.says)
			}
			if rows, err := d.Ledger.Region("mark").Rows(t.Context()); err != nil || len(rows) != 0 {
				t.Errorf("something was written: %+v, %v", rows, err)
			}
		})
	}
}

// TestLogOfWrites: each write is one line that says who did what. A read is no line.
func TestLogOfWrites(t *testing.T) {
	t.Parallel()
	d := newTestService(t)
	call := wire.Call{Region: "mark", Row: &engine.Row{Key: "ci/web-1", HostKey: "h1", SystemID: "abc123", Token: "token-of-the-row"}}
	d.sendCall(t, wire.OpBind, call, nil)
	d.sendCall(t, wire.OpBind, call, nil)
	d.sendCall(t, wire.OpRow, wire.Call{Region: "mark", Key: "ci/web-1"}, nil)
	var lines []map[string]any
	for text := range strings.Lines(d.log.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		delete(line, "took")
		lines = append(lines, line)
	}
	line := func(resent bool) map[string]any {
		return map[string]any{
			"level": "INFO", "msg": "write", "client": "ci", "operation": "bind", "outcome": "ok", "resent": resent,
			"region": "mark", "key": "ci/web-1", "host": "h1",
		}
	}
	if diff := cmp.Diff([]map[string]any{line(false), line(true)}, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if strings.Contains(d.log.String(), "token-of-the-row") || strings.Contains(d.log.String(), "ABCDEFGHIJ") {
		t.Errorf("tokens are in the log:\n%s", d.log.String())
	}
}

// TestResentWrites: a write that is sent again while it runs is done once.
func TestResentWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := replyCache{byCall: map[string]*reply{}}
		var done, resent atomic.Int64
		slow := func() wire.Answer {
			done.Add(1)
			time.Sleep(time.Second)
			return wire.Answer{Fresh: true}
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				answer, again := r.answerOnce(t.Context(), "ci 1", "place", slow)
				if !answer.Fresh {
					t.Errorf("got %+v", answer)
				}
				if again {
					resent.Add(1)
				}
			})
		}
		all.Wait()
		if done.Load() != 1 || resent.Load() != 7 {
			t.Errorf("done %d times, and sent again %d times", done.Load(), resent.Load())
		}
		if answer, _ := r.answerOnce(t.Context(), "ci 1", "bind", slow); answer.Error == nil || done.Load() != 1 {
			t.Errorf("an id was used for two writes: %+v", answer)
		}
		// If the caller's time was over, the answer is not kept.
		late := func() wire.Answer { return errorAnswer(context.DeadlineExceeded) }
		r.answerOnce(t.Context(), "ci 2", "place", late)
		if answer, again := r.answerOnce(t.Context(), "ci 2", "place", slow); !answer.Fresh || again {
			t.Errorf("got %+v, %t", answer, again)
		}
		// If a cluster had no leader, the answer is not kept either.
		leaderless := func() wire.Answer { return errorAnswer(engine.ErrUnavailable) }
		r.answerOnce(t.Context(), "ci 3", "place", leaderless)
		if answer, again := r.answerOnce(t.Context(), "ci 3", "place", slow); !answer.Fresh || again {
			t.Errorf("got %+v, %t", answer, again)
		}
		// The size of the cache is limited.
		for n := range maxReplies + 10 {
			r.answerOnce(t.Context(), string(rune(n+1000)), "place", func() wire.Answer { return wire.Answer{} })
		}
		if len(r.byCall) > maxReplies || len(r.oldest) > maxReplies {
			t.Errorf("%d are kept", len(r.byCall))
		}
	})
}

// TestTimeoutOfACall: the caller chooses the time of a call, within limits.
func TestTimeoutOfACall(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": defaultTimeout, "x": defaultTimeout, "-1": defaultTimeout, "1500": 1500 * time.Millisecond, "9223372036854775807": maxTimeout,
	} {
		if got := parseTimeout(header); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}
