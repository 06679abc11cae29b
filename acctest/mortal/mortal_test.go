package mortal_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/mortal"
)

// TestDeath kills at a call before it has its effect, and after, and at a look: the
// dead get nothing, and do nothing any more; the next one lives.
func TestDeath(t *testing.T) {
	t.Parallel()
	deploy := "POST machines/*/ deploy"
	cases := map[string]struct {
		reason string
		deed   mortal.Deed
		served int32
	}{
		"Undone": {"It dies on the way: nothing comes of the second call.", mortal.Deed{What: deploy + mortal.Undone, Again: 2}, 2},
		"Done":   {"It dies of the second call, of which it is not told.", mortal.Deed{What: deploy, Again: 2}, 3},
		"Look":   {"What it looked for it never learns.", mortal.Deed{What: "GET machines/", Again: 1}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var served atomic.Int32
			inner := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				served.Add(1)
				rw.Header().Set("X-Answer", "yes")
				rw.WriteHeader(http.StatusAccepted)
			})
			gate := mortal.NewGate(inner, mortal.MAASCall)
			server := httptest.NewServer(gate)
			t.Cleanup(server.Close)
			fate := mortal.Of(tc.deed)
			last := 0
			life := fate.Begin(func() { last++ })
			gate.Know("first", life)
			ctx, cancel := life.Context(t.Context())
			defer cancel()

			err := errors.Join(call(t, server, "first", deploy), call(t, server, "first", "GET machines/"), call(t, server, "first", deploy))
			if !life.Dead() || err == nil || fate.Death() == nil || last != 1 {
				t.Errorf("it is dead: %t, of %v, seen %d times; its calls: %v", life.Dead(), fate.Death(), last, err)
			}
			<-ctx.Done()
			if got := served.Load(); got != tc.served {
				t.Errorf("%s %d calls were served, want %d", tc.reason, got, tc.served)
			}
			dead := life.Transport(http.DefaultTransport, mortal.MAASCall)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dead.RoundTrip(r); !errors.Is(err, mortal.ErrDead) {
				t.Errorf("the dead call and get %v", err)
			}
			if got := status(t, server, "second"); got != http.StatusForbidden || served.Load() != tc.served {
				t.Errorf("who is not known gets %d", got)
			}
			gate.Know("second", fate.Begin(nil))
			if err := call(t, server, "second", deploy); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// call does what it names, and wants the whole answer.
func call(t *testing.T, server *httptest.Server, agent, what string) error {
	t.Helper()
	method, path := http.MethodGet, "/MAAS/api/2.0/machines/"
	if what != "GET machines/" {
		method, path = http.MethodPost, "/MAAS/api/2.0/machines/abc/?op=deploy"
	}
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", agent)
	answer, err := server.Client().Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted || answer.Header.Get("X-Answer") != "yes" {
		t.Errorf("the answer to %s is %s, %v", what, answer.Status, answer.Header)
	}
	return nil
}

// status is what a look is answered with.
func status(t *testing.T, server *httptest.Server, agent string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", agent)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// TestToll: a thing kills if one of its numbers does.
func TestToll(t *testing.T) {
	t.Parallel()
	var toll mortal.Toll
	for _, d := range []mortal.Deed{{What: "write", Again: 1}, {What: "write", Again: 2}, {What: "deploy", Again: 1}} {
		fate := mortal.Of(d)
		life := fate.Begin(nil)
		_ = life.Look("write", func() error { return nil }) // it may die of it
		toll.Note(d, fate)
		if missing := fate.Missing("write", "deploy"); !slices.Equal(missing, []string{"deploy"}) {
			t.Errorf("of %v it lacks %q", fate.Deeds(), missing)
		}
	}
	if got := toll.Survived(); !slices.Equal(got, []string{"deploy"}) || toll.Noted() != 2 {
		t.Errorf("of %d things survived were %q", toll.Noted(), got)
	}
}

// TestDeeds: what was done is told in order, with how often.
func TestDeeds(t *testing.T) {
	t.Parallel()
	fate := mortal.Never()
	life := fate.Begin(nil)
	for range 2 {
		if err := life.Act("write", func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	want := []mortal.Deed{{1, "write" + mortal.Undone, 1}, {2, "write", 1}, {3, "write" + mortal.Undone, 2}, {4, "write", 2}}
	if got := fate.Deeds(); !slices.Equal(got, want) || life.Dead() || fate.Death() != nil {
		t.Errorf("it did %v, and is dead: %t", got, life.Dead())
	}
	if got := (mortal.Deed{What: "POST machines/*/ deploy", Again: 2}).Name(); got != "POST machines deploy 2" {
		t.Errorf("a subtest is called %q", got)
	}
}

// TestNextLife: the next one begins once all is seen of what the dead one left.
func TestNextLife(t *testing.T) {
	t.Parallel()
	fate := mortal.Of(mortal.Deed{What: "write", Again: 1})
	seeing, seen := make(chan struct{}), atomic.Bool{}
	life := fate.Begin(func() {
		close(seeing)
		time.Sleep(50 * time.Millisecond) // for another to begin too early
		seen.Store(true)
	})
	go life.Look("write", func() error { return nil }) //nolint:errcheck // it dies
	<-seeing
	<-life.End()
	fate.Begin(nil)
	if !seen.Load() {
		t.Error("it began while the other's leavings were looked at")
	}
}
