package maas

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// newSlowFake answers from table, a second later.
func newSlowFake(table map[string]func() *http.Response) *fakeTransport {
	f := newRouteFake(table)
	answer := f.answer
	f.answer = func(req *http.Request, s sentRequest) (*http.Response, error) {
		res, err := answer(req, s)
		if wait := pauseRequest(req, time.Second); wait != nil {
			return nil, wait
		}
		return res, err
	}
	return f
}

func TestListsAreCached(t *testing.T) {
	t.Parallel()
	zones := map[string]func() *http.Response{"GET zones/": jsonReply([]wireNamed{{2, "b"}, {1, "a"}})}
	cases := map[string]struct {
		reason string
		do     func(*testing.T, *Client)
		calls  int
	}{
		"Shared": {"Those who ask at the same time share a call.", func(t *testing.T, c *Client) {
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() { c.Names.Zones(t.Context()) })
			}
			wg.Wait()
		}, 1},
		"Kept": {"Zones seldom change.", func(t *testing.T, c *Client) {
			c.Names.Zones(t.Context())
			time.Sleep(4 * time.Minute)
			c.Names.Zones(t.Context())
		}, 1},
		"Expires": {"But they do.", func(t *testing.T, c *Client) {
			c.Names.Zones(t.Context())
			time.Sleep(namesTTL)
			c.Names.Zones(t.Context())
		}, 2},
		"Refresh": {"Somebody knows better.", func(t *testing.T, c *Client) {
			c.Names.Zones(t.Context())
			c.Names.Refresh()
			c.Names.Zones(t.Context())
		}, 2},
		"RefreshDuringCall": {"A call that began less than a second ago serves who comes after.", func(t *testing.T, c *Client) {
			var wg sync.WaitGroup
			wg.Go(func() {
				if zones, err := c.Names.Zones(t.Context()); err != nil || len(zones) != 2 {
					t.Errorf("who came before got %v, %v", zones, err)
				}
			})
			time.Sleep(500 * time.Millisecond)
			c.Names.Refresh()
			c.Names.Zones(t.Context())
			wg.Wait()
			c.Names.Zones(t.Context())
		}, 1},
		"RefreshOfAnother": {"A refresh of the hosts does not refresh the zones.", func(t *testing.T, c *Client) {
			c.Names.Zones(t.Context())
			time.Sleep(time.Minute)
			c.Names.Refresh(engine.ListHosts)
			c.Names.Zones(t.Context())
		}, 1},
		"Abandoned": {"A call that everybody left is not joined.", func(t *testing.T, c *Client) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			c.Names.Zones(ctx)
			if zones, err := c.Names.Zones(t.Context()); err != nil || len(zones) != 2 {
				t.Errorf("who came later got %v, %v", zones, err)
			}
		}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newSlowFake(zones)
				c := testClient(t, f)
				tc.do(t, c)
				if got := len(f.requests()); got != tc.calls {
					t.Errorf("%s: %d calls, want %d", tc.reason, got, tc.calls)
				}
				got, err := c.Names.Zones(t.Context())
				if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" || err != nil {
					t.Errorf("zones (-want +got), %v:\n%s", err, diff)
				}
			})
		})
	}
}

func TestListNames(t *testing.T) {
	t.Parallel()
	c := testClient(t, newRouteFake(map[string]func() *http.Response{
		"GET zones/":         jsonReply([]wireNamed{{1, "z"}}),
		"GET resourcepools/": jsonReply([]wireNamed{{1, "p"}}),
		"GET domains/":       jsonReply([]wireNamed{{1, "d"}}),
	}))
	for want, list := range map[string]func(context.Context) ([]string, error){"z": c.Names.Zones, "p": c.Names.Pools, "d": c.Names.Domains} {
		if got, err := list(t.Context()); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("got %v, %v, want %s", got, err, want)
		}
	}
}

func TestFailuresAreNotCached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := map[string]func() *http.Response{"GET zones/": statusReply(500, "text/plain", "x")}
		c := testClient(t, newRouteFake(table))
		if _, err := c.Names.Zones(t.Context()); errorKinds(err) != "ErrUnavailable" {
			t.Errorf("got %v", err)
		}
		table["GET zones/"] = jsonReply([]wireNamed{{1, "a"}})
		if zones, err := c.Names.Zones(t.Context()); err != nil || len(zones) != 1 {
			t.Errorf("got %v, %v", zones, err)
		}
	})
}

// TestHostsAreDropped counts the listings of hosts after changes to them.
func TestHostsAreDropped(t *testing.T) {
	t.Parallel()
	cases := map[string]func(context.Context, *Client){
		"Compose": func(ctx context.Context, c *Client) {
			c.Hosts.Compose(ctx, engine.VMHost{ID: 8}, engine.Composition{Hostname: "web1", Cores: 1, MemoryMiB: 1024})
		},
		"Decompose": func(ctx context.Context, c *Client) { c.Hosts.Decompose(ctx, "abc123") },
		"Sync":      func(ctx context.Context, c *Client) { c.Hosts.SyncHost(ctx, engine.VMHost{ID: 8}, "") },
	}
	for name, do := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newRouteFake(map[string]func() *http.Response{
					"GET vm-hosts/":               jsonReply([]wireHost{{ID: 8, Name: "lxd1", Type: "lxd"}}),
					"POST vm-hosts/8/?op=compose": statusReply(503, "text/plain", "no"),
				})
				c := testClient(t, f)
				c.Hosts.Hosts(t.Context())
				c.Hosts.Hosts(t.Context())
				do(t.Context(), c)
				c.Hosts.Hosts(t.Context())
				if got := len(f.requests()); got != 3 {
					t.Errorf("%d requests %v, want two listings and the change", got, f.routes())
				}
				time.Sleep(hostsTTL)
				c.Hosts.Hosts(t.Context())
				if got := len(f.requests()); got != 4 {
					t.Errorf("%d requests, want one more when the list is old", got)
				}
			})
		})
	}
}

// movingLedger is a ledger whose tag a test changes.
type movingLedger struct {
	now, floor int64
	err        error
}

func (l *movingLedger) CurrentTag(context.Context) (engine.Tag, error) {
	return engine.Tag{Generation: "g", Sequence: l.now}, l.err
}

func (l *movingLedger) AcceptsInventory(_ context.Context, inventory engine.Tag) (bool, error) {
	return l.floor <= inventory.Sequence && inventory.Sequence <= l.now, l.err
}

// TestHostsCarryTheTag: each listing of hosts has the ledger's tag from before the call to
// MAAS, for as long as the listing is used.
func TestHostsCarryTheTag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book := &movingLedger{}
		c := testClient(t, newRouteFake(map[string]func() *http.Response{
			"GET vm-hosts/": func() *http.Response {
				book.now += 10 // while MAAS answers, the ledger goes on
				return jsonReply([]wireHost{{ID: 8, Type: "lxd"}})()
			},
		}), func(config *Config) {
			config.Ledger = book
		})
		for _, want := range []int64{0, 0, 10} {
			hosts, err := c.Hosts.Hosts(t.Context())
			if err != nil || len(hosts) != 1 || hosts[0].Inventory != (engine.Tag{Generation: "g", Sequence: want}) {
				t.Errorf("got %+v, %v; want the tag %d", hosts, err, want)
			}
			time.Sleep(hostsTTL * 2 / 3)
		}
		book.floor = 20
		for range 2 {
			if hosts, err := c.Hosts.Hosts(t.Context()); err != nil || hosts[0].Inventory.Sequence != 20 || book.now != 30 {
				t.Errorf("got %+v, %v at %d; want a list that serves, read once", hosts, err, book.now)
			}
		}
		book.err = engine.ErrBusy
		time.Sleep(hostsTTL)
		if _, err := c.Hosts.Hosts(t.Context()); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("a listing without its tag was served: %v", err)
		}
	})
}
