package assembly_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestHostKeyLost: a host that was deployed with one key is not gone on with by
// another, which its LXD would not let in.
func TestHostKeyLost(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		p.ctx = ctx
		if _, err := p.applyHost(newHostRef, metalHost()); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("want it cut off, got %v", err)
		}
		other := metalHost()
		other.Credentials = operatorPair()
		_, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyHost(newHostRef, other)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), fleetPair().Fingerprint()) || !strings.Contains(err.Error(), operatorPair().Fingerprint()) {
			t.Errorf("want both fingerprints named, got %v", err)
		}
		r.wantNoRecord(t)
	})
}

// TestHostKeyRotated: MAAS is given the next key, once, by an update.
func TestHostKeyRotated(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		h, err := p.applyHost(newHostRef, metalHost())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.sim.TrustCertificate("m1", operatorPair().Certificate); err != nil {
			t.Fatal(err)
		}
		next := metalHost()
		next.Credentials = operatorPair()
		ref := engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID, Finished: true}
		for range 2 {
			if h, err = p.applyHost(ref, next); err != nil || h.Fingerprint != operatorPair().Fingerprint() {
				t.Fatalf("got %+v, %v", h, err)
			}
		}
		handed := 0
		for _, c := range r.sim.Journal().Calls {
			if c.Route == "PUT vm-hosts/{id}/" && len(c.Form["certificate"]) > 0 {
				handed++
			}
		}
		if handed != 1 {
			t.Errorf("MAAS was given the next key %d times", handed)
		}
	})
}

// TestHostDoesNotFit: what cannot become of a machine is said before it is
// deployed, at the field that can be changed.
func TestHostDoesNotFit(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   func(*engine.HostSpec)
		disk   int64
		want   string
	}{
		"PoolBeyondDisk": {
			reason: "LXD would fail at first boot.", disk: 100, want: "lxd.storage_pools.default.size_gb",
			spec: func(s *engine.HostSpec) {
				s.LXD.StoragePools = map[string]cloudinit.StoragePool{"default": {SizeGB: 101}}
			},
		},
		"PoolsTogether": {
			reason: "They share one disk.", disk: 100, want: "lxd.storage_pools.b.size_gb",
			spec: func(s *engine.HostSpec) {
				s.LXD.StoragePools = map[string]cloudinit.StoragePool{"a": {SizeGB: 60}, "b": {SizeGB: 60, Driver: cloudinit.LVM}}
				s.LXD.Profile.Pool = "a"
			},
		},
		"DefaultPool": {reason: "The pool that is made where none is described takes 50 GB.", disk: 40, want: "lxd.storage_pools.default.size_gb"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := hostWorld()
			m.Machines[0].DiskGB = tc.disk
			inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
				spec := metalHost()
				spec.DefaultStoragePool, spec.LXD = "", cloudinit.Host{}
				if tc.spec != nil {
					tc.spec(&spec)
				}
				_, err := p.applyHost(newHostRef, spec)
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != tc.want || bad.Hint == "" {
					t.Errorf("%s\nwant an error at %s, got %v", tc.reason, tc.want, err)
				}
				if n := r.sim.Journal().Count("POST machines/{id}/ deploy"); n != 0 {
					t.Errorf("it was deployed %d times", n)
				}
			})
		})
	}
}

// TestCredentialsKeepTheKey: whatever prints them, alone or within a spec.
func TestCredentialsKeepTheKey(t *testing.T) {
	pair := fleetPair()
	var logged strings.Builder
	for _, value := range []any{pair, &pair, metalHost(), engine.Registration{Credentials: pair}, []engine.Credentials{pair}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&logged, verb, value)
		}
		slog.New(slog.NewTextHandler(&logged, nil)).Info("spec", "value", value)
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("spec", "value", value)
	}
	body := strings.Split(pair.Key, "\n")[1]
	for _, secret := range []string{body, "PRIVATE KEY", hex.EncodeToString([]byte(body)), pair.Key} {
		if strings.Contains(logged.String(), secret) {
			t.Errorf("%q is printed", secret)
		}
	}
	if !strings.Contains(logged.String(), pair.Fingerprint()) {
		t.Error("the certificate is not named")
	}
	if got := (engine.Credentials{}).String(); got != "no certificate" {
		t.Errorf("without any: %q", got)
	}
}
