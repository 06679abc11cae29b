package client

import (
	"crypto/tls"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
)

// startService serves a ledger to a client whose keys begin with "ci/".
func startService(t *testing.T) (address string, to LedgerAccess, stop func()) {
	t.Helper()
	folder, now := t.TempDir(), time.Now()
	authority, err := access.OpenAuthority(folder, now)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := authority.Client("ci", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	clients := access.NewRegister(folder)
	if _, err := clients.Add("ci", access.Rights{Regions: []string{access.Any}, Prefix: "ci/"}, certificate, now); err != nil {
		t.Fatal(err)
	}
	rows, err := ledger.Open(t.Context(), filepath.Join(folder, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rows.Close() })
	pair, err := authority.Server([]string{"127.0.0.1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(service.New(service.Config{Ledger: rows, Clients: clients, Signers: authority.Pool(), Version: "test"}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert, Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, LedgerAccess{CA: authority.Certificate, Certificate: string(certificate), Key: string(key)}, server.Close
}

// TestLedgerService places by the ledger of a service, which two runs share.
func TestLedgerService(t *testing.T) {
	t.Parallel()
	address, to, _ := startService(t)
	one := &lateLedger{files: new(Ledgers), path: address, access: to, region: "a"}
	two := &lateLedger{files: new(Ledgers), path: address, access: to, region: "a"}
	t.Cleanup(func() { one.files.Close(); two.files.Close() })
	ctx := t.Context()
	if err := one.check(ctx); err != nil {
		t.Fatal(err)
	}
	tag, err := one.Tag(ctx)
	if err != nil || tag.Generation == "" {
		t.Fatalf("the service's tag is %v, %v", tag, err)
	}
	host := engine.Candidate{HostKey: "h1", Free: engine.Need{Cores: 1}}
	r := engine.Reservation{Key: "ci/web-1", Name: "web-1", Need: engine.Need{Cores: 1}, Inventory: tag, Candidates: []engine.Candidate{host}}
	if _, fresh, err := one.Place(ctx, r); err != nil || !fresh {
		t.Fatalf("fresh %t, %v", fresh, err)
	}
	other := r
	other.Key = "ci/web-2"
	if _, _, err := two.Place(ctx, other); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("another run gets the same room: %v", err)
	}
	release, err := one.Hold(ctx, "ci/web-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Hold(ctx, "ci/web-1"); err == nil {
		t.Error("two runs make one VM")
	}
	release()
	if err := two.Leaving(ctx, "other/web-1"); !errors.Is(err, engine.ErrForbidden) || strings.Contains(err.Error(), "MAASLXD_LEDGER") {
		t.Errorf("another owner's row: %v", err)
	}
	k := FleetKey{ledger: one}
	if file, err := k.File("x"); file != "" || err != nil {
		t.Errorf("there is no place beside a service, got %q, %v", file, err)
	}
	if err := (&owner{rows: one}).check(); err == nil {
		t.Error("a service keeps no owner")
	}
}

// TestLedgerServiceAway: a plan goes on without the service, and nothing is placed.
func TestLedgerServiceAway(t *testing.T) {
	t.Parallel()
	address, to, stop := startService(t)
	stop()
	l := &lateLedger{files: new(Ledgers), path: address, access: to, region: "a"}
	began := time.Now()
	if err := l.check(t.Context()); err != nil || time.Since(began) > 2*serviceTimeout {
		t.Errorf("got %v after %s", err, time.Since(began))
	}
	wrong := &lateLedger{files: new(Ledgers), path: "https://127.0.0.1:1/x", access: to}
	if err := wrong.check(t.Context()); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
