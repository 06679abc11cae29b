package maas

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
)

// TestAllocateNeedsAMachine checks that no call is sent by which MAAS would make a VM.
func TestAllocateNeedsAMachine(t *testing.T) {
	t.Parallel()
	f := newConstantFake(200, "application/json", "{}")
	err := testClient(t, f).Machines.Allocate(t.Context(), "", "fleet")
	if !engine.IsTerminal(err) || errorKinds(err) != "ErrInvalid" || len(f.requests()) != 0 {
		t.Errorf("got %v after %v", err, f.routes())
	}
}

func TestAllocateRefused(t *testing.T) {
	t.Parallel()
	const allocate, list = "POST machines/?op=allocate", "GET machines/"
	taken := statusReply(409, "text/plain; charset=utf-8", "No machine with system ID abc123 available.")
	cases := map[string]struct {
		reason   string
		allocate func() *http.Response
		list     func() *http.Response
		want     string
		calls    int
	}{
		"Taken":  {"It is there, in another state.", taken, jsonReply([]map[string]any{{"system_id": "abc123", "status": 6}}), "ErrConflict", 2},
		"Absent": {"MAAS uses the same words for one that it does not have.", taken, jsonReply([]map[string]any{}), "ErrNotFound", 3},
		"Unseen": {"Where the look fails the refusal stays.", taken, statusReply(403, "text/plain", "no"), "ErrConflict", 2},
		"Denied": {"Other refusals speak for themselves.", statusReply(403, "text/plain", "no"), nil, "ErrForbidden", 1},
		"NoAPI":  {"A 404 speaks of the address.", statusReply(404, "text/plain", "Unknown API endpoint"), nil, "ErrUnavailable", 1},
		"Failed": {"MAAS's own error was not applied.", statusReply(500, "text/plain", "x"), nil, "ErrUnavailable", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRouteFake(map[string]func() *http.Response{allocate: tc.allocate, list: tc.list})
			err := testClient(t, f).Machines.Allocate(t.Context(), "abc123", "fleet")
			if errorKinds(err) != tc.want || len(f.requests()) != tc.calls {
				t.Errorf("%s: got %v after %v", tc.reason, err, f.routes())
			}
		})
	}
}

func TestAnnotateRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		data   map[string]string
		want   string
	}{
		"Op":      {"MAAS drops it without a word.", map[string]string{"op": "x", "role": "db"}, "ErrInvalid"},
		"NoKey":   {"A key has letters.", map[string]string{"": "x"}, "ErrInvalid"},
		"Nothing": {"Nothing to say is no call.", nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newConstantFake(200, "application/json", "{}")
			err := testClient(t, f).Machines.Annotate(t.Context(), "abc123", tc.data)
			if errorKinds(err) != tc.want || (err == nil) != (tc.want == "") || len(f.requests()) != 0 {
				t.Errorf("%s: got %v after %v", tc.reason, err, f.routes())
			}
		})
	}
}

func TestBridgeNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "br-1234567890123", strings.Repeat("ü", 8)} {
		f := newConstantFake(200, "application/json", "{}")
		err := testClient(t, f).Machines.CreateBridge(t.Context(), "abc123", 77, name)
		refused, ok := errors.AsType[engine.FieldError](err)
		if errorKinds(err) != "ErrInvalid" || len(f.requests()) != 0 || !ok || len(refused.Fields()["name"]) != 1 {
			t.Errorf("bridge %q: got %v after %v", name, err, f.routes())
		}
	}
}

// TestMetalErrors maps what MAAS answers.
func TestMetalErrors(t *testing.T) {
	t.Parallel()
	annotate := func(ctx context.Context, c *Client) error {
		return c.Machines.Annotate(ctx, "abc123", map[string]string{"role": "db"})
	}
	bridge := func(ctx context.Context, c *Client) error { return c.Machines.CreateBridge(ctx, "abc123", 77, "br0") }
	cases := map[string]struct {
		reason string
		do     func(context.Context, *Client) error
		answer *fakeTransport
		want   string
	}{
		"NotAcquired":  {"Only an owner can annotate.", annotate, newConstantFake(409, "text/plain; charset=utf-8", "Cannot set workload annotation: it hasn't been acquired."), "ErrConflict"},
		"NoMachine":    {"It is gone.", annotate, newConstantFake(404, "text/plain", "No Machine matches the given query."), "ErrNotFound"},
		"Deployed":     {"Too late for a bridge.", bridge, newConstantFake(409, "text/plain; charset=utf-8", "Cannot create bridge interface because the machine is not New, Ready, Allocated, or Broken."), "ErrConflict"},
		"NameTaken":    {"Names are unique on a machine.", bridge, newConstantFake(400, "application/json", `{"__all__":["Interface with this Node config and Name already exists."]}`), "ErrInvalid"},
		"Bridged":      {"A second bridge on an interface.", bridge, newConstantFake(400, "application/json", `{"parent":["A bridge interface can't have a parent that is already in a bond or a bridge."]}`), "ErrInvalid"},
		"NoSuchBridge": {"The machine of the bridge is gone.", bridge, newConstantFake(404, "text/plain", "No Machine matches the given query."), "ErrNotFound"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.do(t.Context(), testClient(t, tc.answer)); errorKinds(err) != tc.want || len(tc.answer.requests()) != 1 {
				t.Errorf("%s: got %v after %v", tc.reason, err, tc.answer.routes())
			}
		})
	}
}

// TestLostReplies checks that a request that cannot be repeated is sent once, and that its
// error is ErrUnclear where the result is unknown.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	calls := map[string]func(context.Context, *Client) error{
		"Allocate": func(ctx context.Context, c *Client) error { return c.Machines.Allocate(ctx, "abc123", "fleet") },
		"Annotate": func(ctx context.Context, c *Client) error {
			return c.Machines.Annotate(ctx, "abc123", map[string]string{"role": "db"})
		},
		"CreateBridge": func(ctx context.Context, c *Client) error { return c.Machines.CreateBridge(ctx, "abc123", 77, "br0") },
		"Register": func(ctx context.Context, c *Client) error {
			_, err := c.Hosts.Register(ctx, registration(pair))
			return err
		},
		"TagHost": func(ctx context.Context, c *Client) error { return c.Hosts.TagHost(ctx, engine.VMHost{ID: 8}, "blue") },
	}
	lost := map[string]func(r *http.Request) (*http.Response, error){
		"cut off": func(*http.Request) (*http.Response, error) { return nil, bounded.ErrTooLarge },
		"silent":  func(r *http.Request) (*http.Response, error) { return nil, pauseRequest(r, time.Hour) },
		"gateway": func(*http.Request) (*http.Response, error) { return reply(504, "text/html", "x"), nil },
	}
	for name, do := range calls {
		for how, answer := range lost {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := &fakeTransport{answer: func(r *http.Request, _ sentRequest) (*http.Response, error) { return answer(r) }}
					err := do(t.Context(), testClient(t, f))
					if errorKinds(err) != "ErrUnavailable ErrUnclear" || len(f.requests()) != 1 {
						t.Errorf("got %v (%s) after %v", err, errorKinds(err), f.routes())
					}
				})
			})
		}
	}
}

// TestSetStorageLayout sends sizes in bytes and the disk by its number. It omits values
// that are not set, because MAAS refuses an empty size.
func TestSetStorageLayout(t *testing.T) {
	t.Parallel()
	m := engine.Machine{SystemID: "abc123", Disks: []engine.MachineDisk{{ID: 20, Name: "sda"}, {ID: 21, Name: "sdb"}}}
	cases := map[string]struct {
		layout engine.StorageLayout
		want   string
	}{
		"Flat":   {engine.StorageLayout{Type: "flat"}, "storage_layout=flat"},
		"Disk":   {engine.StorageLayout{Type: "flat", RootDisk: "sdb", RootSizeGB: 40}, "root_device=21&root_size=40000000000&storage_layout=flat"},
		"Volume": {engine.StorageLayout{Type: "lvm", VolumeSizeGB: 20}, "lv_size=20000000000&storage_layout=lvm"},
		"Cache":  {engine.StorageLayout{Type: "bcache", CacheMode: "writeback"}, "cache_mode=writeback&storage_layout=bcache"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newConstantFake(200, "application/json", "{}")
			if err := testClient(t, f).Machines.SetStorageLayout(t.Context(), m, tc.layout); err != nil {
				t.Fatal(err)
			}
			sent := f.requests()
			if len(sent) != 1 || sent[0].Form.Encode() != tc.want {
				t.Errorf("got %v %v, want %s", f.routes(), sent, tc.want)
			}
		})
	}
}
