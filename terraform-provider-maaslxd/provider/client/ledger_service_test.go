package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// startService serves a ledger to a client whose keys begin with "ci/".
func startService(t *testing.T) (address string, to LedgerAccess, stop func()) {
	t.Helper()
	return startCounted(t, nil)
}

// startCounted is startService that calls done after each request.
func startCounted(t *testing.T, done func(service.AnsweredRequest)) (address string, to LedgerAccess, stop func()) {
	t.Helper()
	folder, now := t.TempDir(), time.Now()
	authority, err := access.OpenAuthority(folder, now)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := authority.IssueClient("ci", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	clients := access.NewRegister(folder)
	if _, err := clients.Add(t.Context(), "ci", access.Rights{Regions: []string{access.Wildcard}, Prefix: "ci/"}, certificate, now); err != nil {
		t.Fatal(err)
	}
	rows, err := ledger.OpenFile(t.Context(), filepath.Join(folder, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rows.Close() })
	pair, err := authority.IssueServer([]string{"127.0.0.1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(service.New(service.Config{Ledger: rows, Clients: clients, Signers: authority.Pool(), Version: "test", OnAnswered: done}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert, Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, LedgerAccess{CA: authority.Certificate, Certificate: string(certificate), Key: string(key)}, server.Close
}

// TestLedgerService uses the ledger of a service, which two runs share.
func TestLedgerService(t *testing.T) {
	t.Parallel()
	address, to, _ := startService(t)
	one := &lazyLedger{files: new(Ledgers), path: address, access: to, region: "a"}
	two := &lazyLedger{files: new(Ledgers), path: address, access: to, region: "a"}
	t.Cleanup(func() { one.files.Close(); two.files.Close() })
	ctx := t.Context()
	if err := one.checkExisting(ctx); err != nil {
		t.Fatal(err)
	}
	tag, err := one.CurrentTag(ctx)
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
	if err := two.MarkLeaving(ctx, "other/web-1"); !errors.Is(err, engine.ErrForbidden) || strings.Contains(err.Error(), "MAASLXD_LEDGER") {
		t.Errorf("another owner's row: %v", err)
	}
	k := FleetKey{ledger: one}
	if file, err := k.PathBesideLedger("x"); file != "" || err != nil {
		t.Errorf("there is no place beside a service, got %q, %v", file, err)
	}
	if err := (&Owner{ledger: one}).check(); err == nil {
		t.Error("a service keeps no owner")
	}
}

// TestLedgerServiceAway plans without the service. The plan succeeds, and nothing is placed.
func TestLedgerServiceAway(t *testing.T) {
	t.Parallel()
	address, to, stop := startService(t)
	stop()
	l := &lazyLedger{files: new(Ledgers), path: address, access: to, region: "a"}
	began := time.Now()
	if err := l.checkExisting(t.Context()); err != nil || time.Since(began) > 2*ledgerServiceTimeout {
		t.Errorf("got %v after %s", err, time.Since(began))
	}
	wrong := &lazyLedger{files: new(Ledgers), path: "https://127.0.0.1:1/x", access: to}
	if err := wrong.checkExisting(t.Context()); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestNamedAsksOnce refreshes 200 VMs. It asks the service once which of them were
// interrupted, and records the state's objects as named.
func TestNamedAsksOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	count := func(r service.AnsweredRequest) {
		if r.Operation == wire.OpLeases.Name {
			asked.Add(1)
		}
	}
	address, to, stop := startCounted(t, count)
	b := &Backend{ledger: &lazyLedger{files: new(Ledgers), path: address, access: to, region: "a"}}
	refresh := func() time.Duration {
		began := time.Now()
		var all sync.WaitGroup
		for n := range 200 {
			all.Go(func() { b.NoteNamedInState(t.Context(), "m1", engine.Key(fmt.Sprintf("ci/web-%d", n))) })
		}
		all.Wait()
		return time.Since(began)
	}
	refresh()
	if n := asked.Load(); n != 1 {
		t.Errorf("the service was asked %d times, want once", n)
	}
	stop()
	b.cutOffLookups = cutOffLookups{}
	if took := refresh(); took > 2*ledgerServiceTimeout {
		t.Errorf("without the service a refresh of 200 VMs took %s", took)
	}
}

// TestNamedAfterKill names an object of a killed apply in a state. A destroy then no longer
// warns of it.
func TestNamedAfterKill(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	l := &lazyLedger{files: new(Ledgers), path: file, region: "m1"}
	b := &Backend{ledger: l}
	rows, err := l.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	local, ok := rows.(*ledger.Ledger)
	if !ok {
		t.Fatalf("got %T", rows)
	}
	dead := exec.CommandContext(t.Context(), "true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []engine.Key{"ci/web-1", "ci/web-2"} {
		release, err := rows.Hold(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		mine, err := local.LeaseTable().Leases(t.Context(), string(key))
		if err != nil || len(mine) != 1 {
			t.Fatalf("got %v, %v", mine, err)
		}
		release()
		mine[0].Process.PID = dead.ProcessState.Pid()
		if _, err := local.LeaseTable().TakeLease(t.Context(), mine[0], ""); err != nil {
			t.Fatal(err)
		}
	}
	b.NoteNamedInState(t.Context(), "m1", "ci/web-1")
	left, err := rows.ListCutOff(t.Context(), "ci/")
	if err != nil || len(left) != 1 || left[0] != "ci/web-2" {
		t.Errorf("cut off are %v, %v; want ci/web-2", left, err)
	}
}

// TestLedgerServiceErrors: errors of the service name the ledger, its address and its
// attribute, and not MAAS.
func TestLedgerServiceErrors(t *testing.T) {
	t.Parallel()
	address, to, stop := startService(t)
	l := &lazyLedger{files: new(Ledgers), path: address, access: to, region: "a"}
	forbidden := l.MarkLeaving(t.Context(), "other/web-1")
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	_, late := l.CurrentTag(ctx)
	_, away := l.CurrentTag(t.Context())
	for says, err := range map[string]error{"Set owner to what stands before the slash.": forbidden, "apply again": late, "cannot be reached": away} {
		text := diagnostics.ExplainError(fmt.Errorf("cannot reserve room for web-1: %w", err))
		for _, part := range []string{says, address, "ledger (MAASLXD_LEDGER)"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in:\n%s", part, text)
			}
		}
		if strings.Contains(text, "MAAS_API") {
			t.Errorf("it names MAAS:\n%s", text)
		}
	}
}

// TestLedgerServiceTakesRegionOnce creates VMs at once. One request moves the rows that were
// stored under the address of their MAAS to its mark.
func TestLedgerServiceTakesRegionOnce(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	address, to, _ := startCounted(t, func(r service.AnsweredRequest) {
		if r.Operation == wire.OpTakeKeys.Name {
			taken.Add(1)
		}
	})
	const readers = 64
	var met sync.WaitGroup // all of them know the mark, and nobody has moved the rows
	met.Add(readers)
	marks := &regionMarks{mark: "m1", look: func(context.Context) error { met.Done(); met.Wait(); return nil }}
	l := &lazyLedger{files: new(Ledgers), path: address, access: to, region: "a", marks: marks}
	t.Cleanup(func() { l.files.Close() })
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			if _, err := l.Rows(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != 1 {
		t.Errorf("the region was taken by %d requests, want 1", n)
	}
}
