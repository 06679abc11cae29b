package maas

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// TestRefreshHerd: many callers drop a list while another one reads it for the first time.
// They all share its reads.
func TestRefreshHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		c := share.NewCached(hostsTTL, time.Minute, time.Now, func(ctx context.Context) (int, error) {
			calls.Add(1)
			time.Sleep(900 * time.Millisecond) // a list of VM hosts
			return 1, nil
		})
		var wg sync.WaitGroup
		for n := range 40 { // forty VMs that find no room, one each 20 ms
			wg.Go(func() {
				time.Sleep(time.Duration(n) * 20 * time.Millisecond)
				c.Get(t.Context())
				c.Expire()
				c.Get(t.Context())
			})
			wg.Go(func() {
				time.Sleep(time.Duration(n)*20*time.Millisecond + 10*time.Millisecond)
				c.Expire()
				c.Get(t.Context())
			})
		}
		wg.Wait()
		if calls.Load() > 4 {
			t.Errorf("%d reads of one list within %v", calls.Load(), 40*20*time.Millisecond)
		}
	})
}

// TestRefreshDuringLongCall: a call that began long before a Refresh serves the callers
// that already waited for it, and no later ones.
func TestRefreshDuringLongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		c := share.NewCached(hostsTTL, time.Minute, time.Now, func(context.Context) (int32, error) {
			n := calls.Add(1)
			time.Sleep(10 * time.Second)
			return n, nil
		})
		var before sync.WaitGroup
		before.Go(func() {
			if n, err := c.Get(t.Context()); n != 1 || err != nil {
				t.Errorf("who came before got %d, %v", n, err)
			}
		})
		time.Sleep(5 * time.Second)
		c.Expire()
		if n, err := c.Get(t.Context()); n != 2 || err != nil {
			t.Errorf("who came after got %d, %v", n, err)
		}
		before.Wait()
	})
}

// TestSlowCallsLeaveConnections: hosts that hang do not stop all reads, however long a
// request may take.
func TestSlowCallsLeaveConnections(t *testing.T) {
	for _, timeout := range []time.Duration{60 * time.Second, 200 * time.Second} {
		t.Run(timeout.String(), func(t *testing.T) {
			release := make(chan struct{})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("op") == "query_power_state" {
					<-release
				}
				w.Header().Set("Content-Type", "application/json")
				w.Write([]byte("[]"))
			}))
			defer srv.Close()
			defer close(release)
			c, err := New(Config{URL: srv.URL, APIKey: "a:b:c", Timeout: timeout, MaxConns: 4})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 8 {
				go c.Machines.QueryPower(ctx, "abc")
			}
			time.Sleep(300 * time.Millisecond)
			look, end := context.WithTimeout(ctx, 3*time.Second)
			defer end()
			if _, err := c.Names.Zones(look); err != nil {
				t.Errorf("a list waits behind hosts that hang: %v", err)
			}
		})
	}
}

// TestHostKeyStays: the second VM host of a machine keeps its name when the first one is
// removed.
func TestHostKeyStays(t *testing.T) {
	both := []engine.VMHost{{ID: 1, MachineID: "m1"}, {ID: 2, MachineID: "m1"}}
	var keys hostKeys
	keys.assignKeys(both)
	left := []engine.VMHost{{ID: 2, MachineID: "m1"}}
	keys.assignKeys(left)
	if both[1].HostKey != left[0].HostKey {
		t.Errorf("VM host 2 was %q, and is %q once VM host 1 is removed", both[1].HostKey, left[0].HostKey)
	}
}
