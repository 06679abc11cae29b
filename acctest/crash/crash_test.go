package crash_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/crash"
)

// TestCrashAtCall crashes before a call has its effect, after it, and at a read. A
// crashed program gets nothing, and has no further effect. The next one lives.
func TestCrashAtCall(t *testing.T) {
	t.Parallel()
	deploy := "POST machines/*/ deploy"
	cases := map[string]struct {
		reason string
		deed   crash.Operation
		served int32
	}{
		"Undone": {"It dies on the way: nothing comes of the second call.", crash.Operation{Label: deploy + crash.NotDoneSuffix, Occurrence: 2}, 2},
		"Done":   {"It dies of the second call, of which it is not told.", crash.Operation{Label: deploy, Occurrence: 2}, 3},
		"Look":   {"What it looked for it never learns.", crash.Operation{Label: "GET machines/", Occurrence: 1}, 2},
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
			gate := crash.NewGateway(inner, crash.MAASCallName)
			server := httptest.NewServer(gate)
			t.Cleanup(server.Close)
			fate := crash.CrashAt(tc.deed)
			last := 0
			life := fate.StartProcess(func() { last++ })
			gate.Register("first", life)
			ctx, cancel := life.Context(t.Context())
			defer cancel()

			err := errors.Join(callServer(t, server, "first", deploy), callServer(t, server, "first", "GET machines/"), callServer(t, server, "first", deploy))
			if !life.HasCrashed() || err == nil || fate.CrashedAt() == nil || last != 1 {
				t.Errorf("it is dead: %t, of %v, seen %d times; its calls: %v", life.HasCrashed(), fate.CrashedAt(), last, err)
			}
			<-ctx.Done()
			if got := served.Load(); got != tc.served {
				t.Errorf("%s %d calls were served, want %d", tc.reason, got, tc.served)
			}
			dead := life.Transport(http.DefaultTransport, crash.MAASCallName)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dead.RoundTrip(r); !errors.Is(err, crash.ErrCrashed) {
				t.Errorf("the dead call and get %v", err)
			}
			if got := getStatus(t, server, "second"); got != http.StatusForbidden || served.Load() != tc.served {
				t.Errorf("who is not known gets %d", got)
			}
			gate.Register("second", fate.StartProcess(nil))
			if err := callServer(t, server, "second", deploy); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// callServer makes the named call, and wants the whole answer.
func callServer(t *testing.T, server *httptest.Server, agent, what string) error {
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

// getStatus is the status of the answer to a read.
func getStatus(t *testing.T, server *httptest.Server, agent string) int {
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

// TestCoverage: an operation is covered if the program crashed at one of its
// occurrences.
func TestCoverage(t *testing.T) {
	t.Parallel()
	var toll crash.Coverage
	for _, d := range []crash.Operation{{Label: "write", Occurrence: 1}, {Label: "write", Occurrence: 2}, {Label: "deploy", Occurrence: 1}} {
		fate := crash.CrashAt(d)
		life := fate.StartProcess(nil)
		_ = life.DoRead("write", func() error { return nil }) // the program may crash here
		toll.RecordRun(d, fate)
		if missing := fate.MissingOperations("write", "deploy"); !slices.Equal(missing, []string{"deploy"}) {
			t.Errorf("of %v it lacks %q", fate.Operations(), missing)
		}
	}
	if got := toll.NeverCrashed(); !slices.Equal(got, []string{"deploy"}) || toll.PlannedCrashes() != 2 {
		t.Errorf("of %d things survived were %q", toll.PlannedCrashes(), got)
	}
}

// TestOperationsAreListed: operations are listed in order, with their occurrence.
func TestOperationsAreListed(t *testing.T) {
	t.Parallel()
	fate := crash.NeverCrash()
	life := fate.StartProcess(nil)
	for range 2 {
		if err := life.DoWrite("write", func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	want := []crash.Operation{{1, "write" + crash.NotDoneSuffix, 1}, {2, "write", 1}, {3, "write" + crash.NotDoneSuffix, 2}, {4, "write", 2}}
	if got := fate.Operations(); !slices.Equal(got, want) || life.HasCrashed() || fate.CrashedAt() != nil {
		t.Errorf("it did %v, and is dead: %t", got, life.HasCrashed())
	}
	if got := (crash.Operation{Label: "POST machines/*/ deploy", Occurrence: 2}).SubtestName(); got != "POST machines deploy 2" {
		t.Errorf("a subtest is called %q", got)
	}
}

// TestNextProcess: the next process starts after the last function of the crashed
// one has returned.
func TestNextProcess(t *testing.T) {
	t.Parallel()
	fate := crash.CrashAt(crash.Operation{Label: "write", Occurrence: 1})
	seeing, seen := make(chan struct{}), atomic.Bool{}
	life := fate.StartProcess(func() {
		close(seeing)
		time.Sleep(50 * time.Millisecond) // time in which another could start too early
		seen.Store(true)
	})
	go life.DoRead("write", func() error { return nil }) //nolint:errcheck // it crashes
	<-seeing
	<-life.CrashSignal()
	fate.StartProcess(nil)
	if !seen.Load() {
		t.Error("it began while the other's leavings were looked at")
	}
}
