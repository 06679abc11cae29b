package realmaas_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// TestReadIsRepeated repeats only a read that may succeed. Only a 404 means that
// something is gone.
func TestReadIsRepeated(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		status int // of all answers but the last
		calls  int // how many are wanted
		ok     bool
		gone   bool
	}{
		"BadGateway":   {"nginx is up before the region is.", http.StatusBadGateway, 3, true, false},
		"Unavailable":  {"A region restarts.", http.StatusServiceUnavailable, 3, true, false},
		"Hung up":      {"The connection is cut.", 0, 3, true, false},
		"Unauthorized": {"A key that is refused is refused again.", http.StatusUnauthorized, 1, false, false},
		"NotFound":     {"What is not there is gone.", http.StatusNotFound, 1, false, true},
		"Gone":         {"MAAS has removed VM hosts: no machine is gone by that.", http.StatusGone, 1, false, false},
		"Error":        {"A defect of MAAS says nothing.", http.StatusInternalServerError, 1, false, false},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch calls++; {
				case calls == 3:
					w.Write([]byte(`{"system_id": "abc"}`)) //nolint:errcheck // the client reports an error
				case tc.status == 0:
					panic(http.ErrAbortHandler)
				default:
					http.Error(w, "Invalid signature: &SECRET", tc.status)
				}
			}))
			defer server.Close()
			m, err := newTestClient(t, server.URL).Machine(t.Context(), "abc")
			if (err == nil) != tc.ok || tc.ok && m.SystemID != "abc" || calls != tc.calls {
				t.Errorf("%s\n%d calls end in %+v, %v", tc.reason, calls, m, err)
			}
			if realmaas.IsGone(err) != tc.gone {
				t.Errorf("%s\nIsGone(%v) is %v", tc.reason, err, !tc.gone)
			}
			if tc.status == http.StatusUnauthorized && strings.Contains(err.Error(), "SECRET") {
				t.Errorf("the error tells what MAAS says of the signature: %v", err)
			}
		})
	}
}

// TestLookIsCancelled: the pause between two reads ends with ctx.
func TestLookIsCancelled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer server.Close()
	c := newTestClient(t, server.URL)
	c.Pause = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Machine(ctx, "abc"); !errors.Is(err, context.DeadlineExceeded) || realmaas.IsGone(err) {
		t.Errorf("it ends with %v", err)
	}
}

// TestWritesAreSentOnce: a failed write is not repeated, because it may have
// taken effect.
func TestWritesAreSentOnce(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	if err := newTestClient(t, server.URL).Operate(t.Context(), "abc", "release", nil); err == nil || calls != 1 {
		t.Errorf("%d calls end in %v", calls, err)
	}
}

// newTestClient makes a client with short pauses.
func newTestClient(t *testing.T, url string) *realmaas.Client {
	t.Helper()
	c, err := realmaas.NewClient(url, "consumer:token:secret")
	if err != nil {
		t.Fatal(err)
	}
	c.Pause = time.Millisecond
	return c
}
