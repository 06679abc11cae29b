package maas

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

func TestWhichRequestsAreRetried(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	release := func(ctx context.Context, c *Client) error { return c.Machines.Release(ctx, "abc123", engine.EraseNone) }
	read := func(ctx context.Context, c *Client) error { _, err := c.Machines.Machine(ctx, "abc123"); return err }
	rename := func(ctx context.Context, c *Client) error {
		name := "web2"
		return c.Machines.Update(ctx, "abc123", engine.MachineUpdate{Hostname: &name})
	}
	remove := func(ctx context.Context, c *Client) error { return c.Hosts.Decompose(ctx, "abc123") }
	compose := func(ctx context.Context, c *Client) error {
		_, err := c.Hosts.Compose(ctx, engine.VMHost{ID: 8}, engine.Composition{Hostname: "web1", Cores: 1, MemoryMiB: 1024})
		return err
	}
	cases := map[string]struct {
		reason string
		do     func(context.Context, *Client) error
		status int   // of every answer, or
		err    error // of every try
		tries  int
		want   string
	}{
		"ReadLost":        {"Reading changes nothing.", read, 0, io.ErrUnexpectedEOF, 4, "ErrUnavailable"},
		"Read502":         {"The proxy has lost MAAS for a moment.", read, 502, nil, 4, "ErrUnavailable"},
		"Read503":         {"The rack is away for a moment.", read, 503, nil, 4, "ErrUnavailable"},
		"Read504":         {"MAAS is slow for a moment.", read, 504, nil, 4, "ErrUnavailable"},
		"Read500":         {"A failure of MAAS repeats itself.", read, 500, nil, 1, "ErrUnavailable"},
		"Read401":         {"A key does not become better.", read, 401, nil, 1, "ErrForbidden"},
		"UpdateLost":      {"Setting fields twice is setting them once.", rename, 0, io.ErrUnexpectedEOF, 4, "ErrUnavailable"},
		"Update503":       {"The same for MAAS's own answer.", rename, 503, nil, 4, "ErrUnavailable"},
		"DeleteLost":      {"A second delete finds nothing, and that is fine.", remove, 0, io.ErrUnexpectedEOF, 4, "ErrUnavailable"},
		"PostLost":        {"It may have been applied.", release, 0, io.ErrUnexpectedEOF, 1, "ErrUnavailable ErrUnclear"},
		"Post503":         {"A 503 may be permanent.", release, 503, nil, 1, "ErrUnavailable"},
		"Post504":         {"It may be going on.", release, 504, nil, 1, "ErrUnavailable ErrUnclear"},
		"PostUnsent":      {"What never left may be sent.", release, 0, dial, 4, "ErrUnavailable"},
		"ComposeUnsent":   {"A compose is never repeated.", compose, 0, dial, 1, "ErrUnavailable"},
		"ComposeLost":     {"A compose is never repeated.", compose, 0, io.ErrUnexpectedEOF, 1, "ErrUnavailable ErrUnclear"},
		"ComposeGateway":  {"A compose is never repeated.", compose, 504, nil, 1, "ErrUnavailable ErrUnclear"},
		"ComposeRefused":  {"MAAS answers 503 for over-commit too.", compose, 503, nil, 1, "ErrUnavailable"},
		"NoSuchHostname":  {"A name that does not exist will not in a second.", read, 0, &net.DNSError{IsNotFound: true}, 1, "ErrUnavailable"},
		"DNSNotAvailable": {"A resolver may have hiccups.", read, 0, &net.DNSError{IsTemporary: true}, 4, "ErrUnavailable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newConstantFake(tc.status, "text/plain", "")
				if tc.err != nil {
					f.answer = func(*http.Request, sentRequest) (*http.Response, error) { return nil, tc.err }
				}
				err := tc.do(t.Context(), testClient(t, f))
				if got := len(f.requests()); got != tc.tries {
					t.Errorf("%s: %d tries, want %d", tc.reason, got, tc.tries)
				}
				if got := errorKinds(err); got != tc.want {
					t.Errorf("%s: got %v (%s), want %s", tc.reason, err, got, tc.want)
				}
			})
		})
	}
}

func TestRetrySucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTransport{}
		f.answer = func(*http.Request, sentRequest) (*http.Response, error) {
			if len(f.requests()) < 3 {
				return reply(503, "text/html", "restarting"), nil
			}
			return replyJSON([]any{map[string]any{"system_id": "abc123", "status": 4}}), nil
		}
		m, err := testClient(t, f).Machines.Machine(t.Context(), "abc123")
		if err != nil || m.Status != engine.StatusReady {
			t.Fatalf("got %v, %v", m, err)
		}
		got := f.requests()
		pauses := []time.Duration{got[1].At.Sub(got[0].At), got[2].At.Sub(got[1].At)}
		if diff := cmp.Diff([]time.Duration{250 * time.Millisecond, 500 * time.Millisecond}, pauses); diff != "" {
			t.Errorf("pauses (-want +got):\n%s", diff)
		}
	})
}

// TestEachTryIsSigned: MAAS refuses a nonce that it has seen.
func TestEachTryIsSigned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newConstantFake(503, "text/plain", "")
		testClient(t, f).Names.Zones(t.Context())
		seen := map[string]bool{}
		for _, s := range f.requests() {
			if seen[s.Authorization] {
				t.Errorf("sent twice: %s", s.Authorization)
			}
			seen[s.Authorization] = true
			for _, want := range []string{
				"OAuth ", `oauth_version="1.0"`, `oauth_signature_method="PLAINTEXT"`, `oauth_consumer_key="consumerPart00001"`,
				`oauth_token="tokenPart000000002"`, `oauth_signature="%26secretPart00000000000000003"`, `oauth_nonce="`, `oauth_timestamp="946684`,
			} {
				if !strings.Contains(s.Authorization, want) {
					t.Errorf("%s is not in %s", want, s.Authorization)
				}
			}
		}
		if len(seen) != 4 {
			t.Errorf("%d tries, want 4", len(seen))
		}
	})
}

func TestRetriesEndWithTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newConstantFake(503, "text/plain", "")
		c := testClient(t, f, func(config *Config) {
			config.Backoff = func(int) time.Duration { return 20 * time.Second }
		})
		began := time.Now()
		c.Names.Zones(t.Context())
		if took := time.Since(began); took > 30*time.Second || len(f.requests()) != 2 {
			t.Errorf("%d tries in %s, want 2 in at most 30 s", len(f.requests()), took)
		}
	})
}

func TestRetriesEndWithTheCtx(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newConstantFake(503, "text/plain", "")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := testClient(t, f).Hosts.Decompose(ctx, "abc123")
		if !errors.Is(err, context.DeadlineExceeded) || errorKinds(err) != "" || len(f.requests()) != 1 {
			t.Errorf("got %v (%s) after %d tries", err, errorKinds(err), len(f.requests()))
		}
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("it took %s, want no longer than the ctx lasts", took)
		}
	})
}

func TestExponentialBackoff(t *testing.T) {
	t.Parallel()
	least := api.ExponentialBackoff(time.Second, 5*time.Second, func() float64 { return 0 })
	most := api.ExponentialBackoff(time.Second, 5*time.Second, func() float64 { return 1 })
	for try, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 100: 5 * time.Second} {
		if least(try) != want/2 || most(try) != want {
			t.Errorf("try %d: %s to %s, want %s to %s", try, least(try), most(try), want/2, want)
		}
	}
}
