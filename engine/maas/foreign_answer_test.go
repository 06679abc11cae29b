package maas

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestForeignPageAfterMAAS distinguishes a wrong address from a proxy's page at a right
// one: only the page is temporary.
func TestForeignPageAfterMAAS(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		before   bool // MAAS answered once
		terminal bool
	}{
		"Never":  {"Nothing but pages: the address is wrong.", false, true},
		"Before": {"MAAS was there: a page of maintenance passes.", true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := false
			f := &fakeTransport{answer: func(*http.Request, sentRequest) (*http.Response, error) {
				if page {
					return reply(302, "text/html", "<html>"), nil
				}
				return reply(200, "application/json", "[]"), nil
			}}
			c := testClient(t, f)
			if tc.before {
				if _, err := c.Names.Zones(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			page = true
			_, err := c.Names.Subnets(t.Context())
			if errorKinds(err) != "ErrUnavailable" || engine.IsTerminal(err) != tc.terminal {
				t.Errorf("%s\ngot %v, terminal %t", tc.reason, err, engine.IsTerminal(err))
			}
		})
	}
}

// TestSlowCallsLeaveRoom lets more composes hang than there are connections. A read must
// still be answered.
func TestSlowCallsLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const connections = 4
		free := make(chan struct{}, connections) // as a transport would have them
		for range connections {
			free <- struct{}{}
		}
		f := &fakeTransport{answer: func(r *http.Request, s sentRequest) (*http.Response, error) {
			select {
			case <-free:
				defer func() { free <- struct{}{} }()
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			if s.Method == http.MethodPost {
				return nil, pauseRequest(r, time.Hour)
			}
			return reply(200, "application/json", "[]"), nil
		}}
		c := testClient(t, f, func(config *Config) { config.MaxConns = connections })
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 2 * connections {
			wg.Go(func() {
				if _, err := c.Hosts.Compose(ctx, engine.VMHost{ID: 1}, engine.Composition{Hostname: "web1", Cores: 1, MemoryMiB: 1024}); err == nil {
					t.Error("a compose that hangs has succeeded")
				}
			})
		}
		synctest.Wait()
		if _, err := c.Machines.MachinesNamed(t.Context(), "web1"); err != nil {
			t.Errorf("a read beside hanging composes: %v", err)
		}
		cancel()
		wg.Wait()
	})
}
