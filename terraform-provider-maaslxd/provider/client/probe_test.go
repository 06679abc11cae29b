package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// silentProbe is a probe whose LXD is silent or answers.
type silentProbe struct{ err error }

// Server implements engine.Probe.
func (m *silentProbe) Server(context.Context, engine.Endpoint, engine.Credentials, string) (engine.LXDServer, error) {
	return engine.LXDServer{Version: "5.21.3"}, m.err
}

func TestPatientProbe(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		unseen  bool
		reached bool
		known   bool
		dropped bool
		after   time.Duration
		refused bool
		err     error
	}{
		"Soon":       {reason: "LXD is being installed.", unseen: true, after: time.Minute, err: engine.ErrUnavailable},
		"Ours":       {reason: "MAAS's inventory is enough: nobody else made VMs there.", unseen: true, after: 6 * time.Minute},
		"Theirs":     {reason: "VMs there would be power-cycled.", after: 6 * time.Minute, refused: true, err: engine.ErrConflict},
		"WasReached": {reason: "The LXD server could be reached before, and will answer again.", unseen: true, reached: true, after: time.Hour, err: engine.ErrUnavailable},
		"Known":      {reason: "The LXD server must show its certificate.", unseen: true, known: true, after: time.Hour, err: engine.ErrUnavailable},
		"Swallowed":  {reason: "A firewall drops the connections, and will continue to do so.", unseen: true, dropped: true, after: 10 * time.Second},
		"SwallowedTheirs": {
			reason: "VMs there would be power-cycled.", dropped: true, after: 10 * time.Second, refused: true, err: engine.ErrConflict,
		},
		"SwallowedLater": {reason: "The LXD server could be reached before, and is restarting.", unseen: true, reached: true, dropped: true, after: time.Minute, err: engine.ErrUnavailable},
		"ReachedElse":    {reason: "The same holds where somebody else has VMs.", reached: true, after: time.Hour, err: engine.ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.unseen {
					ctx = AllowUnprobedLXD(ctx)
				}
				lxd := &silentProbe{}
				p := newAutoProbe(lxd)
				p.isDropped = func(context.Context, string) bool { return tc.dropped }
				e := engine.Endpoint{Address: "https://10.0.0.5:8443", Project: "maas"}
				pinned := ""
				if tc.known {
					pinned = "aa"
				}
				ask := func() error { _, err := p.Server(ctx, e, engine.Credentials{}, pinned); return err }
				if tc.reached {
					if err := ask(); err != nil {
						t.Fatal(err)
					}
				}
				lxd.err = fmt.Errorf("nothing listens: %w", engine.ErrUnavailable)
				for n := range minDroppedConnections - 1 {
					if err := ask(); !errors.Is(err, engine.ErrUnavailable) {
						t.Fatalf("want silence %d waited for, got %v", n+1, err)
					}
				}
				time.Sleep(tc.after)
				err := ask()
				var refusal *engine.Refusal
				if !errors.Is(err, tc.err) || errors.As(err, &refusal) != tc.refused {
					t.Errorf("%s\nwant %v, got %v", tc.reason, tc.err, err)
				}
			})
		})
	}
}
