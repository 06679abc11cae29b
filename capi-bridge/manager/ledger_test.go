package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
)

// startLedgerService serves a ledger, and returns its address with the files of a client.
func startLedgerService(t *testing.T) (address string, files LedgerFiles, clients *access.Register) {
	t.Helper()
	folder, now := t.TempDir(), time.Now()
	authority, err := access.OpenAuthority(folder, now)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := authority.IssueClient("manager", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	clients = access.NewRegister(folder)
	if _, err := clients.Add(t.Context(), "manager", access.Rights{Regions: []string{access.Wildcard}, Prefix: access.Wildcard}, certificate, now); err != nil {
		t.Fatal(err)
	}
	files = LedgerFiles{filepath.Join(folder, access.AuthorityFile), filepath.Join(folder, "m.crt"), filepath.Join(folder, "m.key")}
	if err := errors.Join(os.WriteFile(files.Certificate, certificate, 0o600), os.WriteFile(files.Key, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	pair, err := authority.IssueServer([]string{"127.0.0.1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	rows := ledger.NewMemory(nil)
	t.Cleanup(func() { rows.Close() })
	server := httptest.NewUnstartedServer(service.New(service.Config{Ledger: rows, Clients: clients, Signers: authority.Pool(), Version: "test"}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert, Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, files, clients
}

// TestLedgerService: the manager reserves by a service, and says at its start what is
// wrong with it.
func TestLedgerService(t *testing.T) {
	t.Parallel()
	address, files, clients := startLedgerService(t)
	good := Options{Ledger: address, LedgerFiles: files, Version: "test"}
	if good.hasLedgerFile() {
		t.Error("there is no place for a key pair beside a service")
	}
	rows, err := good.openLedger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Region("mark").Bind(t.Context(), engine.Row{Key: "uid/ns/c/m", HostKey: "h1", SystemID: "abc123"}); err != nil {
		t.Error(err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	for name, tc := range map[string]struct {
		change func(*Options)
		flag   string
		says   string
	}{
		"NoFile":   {func(o *Options) { o.LedgerFiles.Key = "nowhere" }, "--ledger-key", "cannot be read"},
		"NoKey":    {func(o *Options) { o.LedgerFiles.Key = o.LedgerFiles.Certificate }, "--ledger-key", "is not the private key"},
		"NoCA":     {func(o *Options) { o.LedgerFiles.CA = o.LedgerFiles.Key }, "--ledger-ca", "holds no certificate"},
		"NoLedger": {func(o *Options) { o.Ledger += "/x" }, "--ledger", "has something after the host"},
	} {
		o := good
		tc.change(&o)
		_, err := o.openLedger(t.Context())
		usage, ok := errors.AsType[*setting.UsageError](err)
		if !ok || usage.Flag != tc.flag || !strings.Contains(usage.Text, tc.says) || usage.Hint == "" {
			t.Errorf("%s: got %v, want %s: %q", name, err, tc.flag, tc.says)
		}
	}
	if _, err := clients.Revoke(t.Context(), "manager", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := good.openLedger(t.Context()); !errors.Is(err, engine.ErrForbidden) {
		t.Errorf("revoked: %v", err)
	}
}

// TestServiceOfLeader: who leads no more begins no compose by a ledger service either, and
// the next leader finds that one may have begun.
func TestServiceOfLeader(t *testing.T) {
	t.Parallel()
	rows := ledger.NewMemory(nil)
	defer rows.Close()
	var leads error
	l := leaderRegions{ledger.LocalRegions{Ledger: rows}, func(context.Context) error { return leads }}.Region("mark")
	tag, err := l.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	row, _, err := l.Place(t.Context(), engine.Reservation{
		Key: "uid/ns/c/m", Name: "m", Inventory: tag, Candidates: []engine.Candidate{{HostKey: "h1", Free: engine.Need{Cores: 1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Renew(t.Context(), row); err != nil {
		t.Errorf("the leader: %v", err)
	}
	before, err := l.Row(t.Context(), row.Key)
	if err != nil {
		t.Fatal(err)
	}
	leads = engine.ErrBusy
	if err := l.Renew(t.Context(), before); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a former leader may compose: %v", err)
	}
	if after, err := l.Row(t.Context(), row.Key); err != nil || !after.Since.After(before.Since) {
		t.Errorf("the row is %+v, %v, and was %+v", after, err, before)
	}
}
