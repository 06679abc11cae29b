package site

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// newTestSite is a site of a simulated MAAS.
func newTestSite(t *testing.T, version string, wanted Choice) (*Site, *sim.Server) {
	t.Helper()
	s := sim.StartServer(t, sim.Model{MAASVersion: version})
	at, err := New(Config{
		URL: s.URL, APIKey: s.APIKey(), Ledger: ledger.NewMemory(nil), Composer: wanted, Interval: 20 * time.Millisecond,
		Credentials: func(context.Context) (engine.Credentials, error) { return engine.Credentials{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return at, s
}

// TestChooseComposer: who makes the VMs, and whether that can be.
func TestChooseComposer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		version string
		wanted  Choice
		want    Choice
		probes  int
		able    error
	}{
		"AutoVMHosts": {"MAAS composes for as long as it can.", sim.Version37, Auto, MAAS, 1, nil},
		"AutoGone":    {"It cannot any more.", sim.VersionGone, Auto, LXD, 1, nil},
		"Default":     {"Nothing said is auto.", sim.VersionGone, "", LXD, 1, nil},
		"LXDAnyway":   {"Asked for on a MAAS with VM hosts.", sim.Version37, LXD, LXD, 0, nil},
		"MAASGone":    {"Asked for what is gone.", sim.VersionGone, MAAS, MAAS, 0, engine.ErrGone},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, s := newTestSite(t, tc.version, tc.wanted)
			if n := len(s.Journal().Calls); n != 0 {
				t.Errorf("%d calls before anything was asked", n)
			}
			for range 3 {
				if got, err := at.ChosenComposer(t.Context()); got != tc.want || err != nil {
					t.Errorf("%s: got %q, %v", tc.reason, got, err)
				}
			}
			if n := len(s.Journal().Calls); n != tc.probes {
				t.Errorf("%d calls to choose, want %d", n, tc.probes)
			}
			if err := at.askMaker(t.Context(), func(ctx context.Context, w *maker) error { return w.composer.CheckCanCompose(ctx) }); !errors.Is(err, tc.able) {
				t.Errorf("able: got %v, want %v", err, tc.able)
			}
		})
	}
}

// TestServersAreListedOnce: a fleet without VM hosts is found by one listing.
func TestServersAreListedOnce(t *testing.T) {
	t.Parallel()
	at, s := newTestSite(t, sim.VersionGone, Auto)
	for range 3 {
		if _, err := at.Inventory.Fleet(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Journal().Count("GET machines/"); n != 1 {
		t.Errorf("%d listings of machines, want 1", n)
	}
}

// TestMayTravel: the private key does not go over plain http to another machine.
func TestMayTravel(t *testing.T) {
	t.Parallel()
	for url, refused := range map[string]bool{
		"http://maas.example:5240/MAAS": true, "HTTP://10.0.0.1/MAAS": true,
		"https://maas.example:5443/MAAS": false, "http://127.0.0.1:5240/MAAS": false, "http://localhost:5240/MAAS": false,
	} {
		if err := CheckKeyTransport(url, false); (err != nil) != refused {
			t.Errorf("%s: %v", url, err)
		}
		if err := CheckKeyTransport(url, true); err != nil {
			t.Errorf("%s, allowed: %v", url, err)
		}
	}
}
