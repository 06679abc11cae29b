package ledger

import (
	"bytes"
	"context"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	rows "github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// output collects what a program writes while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// runCommand runs a command of the ledger in a folder.
func runCommand(ctx context.Context, folder string, out, log io.Writer, args ...string) error {
	return Run(ctx, setting.Program{
		Name: "capi-bridge ledger", Args: args, Stdout: out, Stderr: log, Version: "test",
		Getenv: func(name string) string { return map[string]string{"LEDGER_DIR": folder}[name] },
	})
}

// testService is a running service.
type testService struct {
	t               *testing.T
	folder          string
	address, health string
	log             output
	stop            context.CancelFunc
	ended           chan error
}

// startTestService starts a service, and waits until it serves.
func startTestService(t *testing.T, folder string, args ...string) *testService {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &testService{t: t, folder: folder, stop: stop, ended: make(chan error, 1)}
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--health-addr", "127.0.0.1:0"}, args...)
	go func() { s.ended <- runCommand(ctx, folder, io.Discard, &s.log, args...) }()
	t.Cleanup(stop)
	for range 600 {
		for text := range strings.Lines(s.log.String()) {
			var line struct{ Msg, Address, Health string }
			if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "serving" {
				s.address, s.health = line.Address, line.Health
				return s
			}
		}
		select {
		case err := <-s.ended:
			t.Fatalf("it does not serve: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("it does not serve:\n%s", s.log.String())
	return nil
}

// addAndConnectClient adds a client, and connects it.
func (s *testService) addAndConnectClient(name string, args ...string) *remote.Client {
	s.t.Helper()
	keys := s.t.TempDir()
	err := runCommand(s.t.Context(), s.folder, io.Discard, io.Discard, append([]string{"client", "add", name, "--out", keys}, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(keys, name))
		if err != nil {
			s.t.Fatal(err)
		}
		return string(text)
	}
	c, err := remote.New(remote.Config{Address: "https://" + s.address, CA: read("ca.pem"), Certificate: read(name + ".crt"), Key: read(name + ".key")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func (s *testService) getDiagnostics(path string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.health+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestServe follows a service through its life. A client is added while it runs, writes, and is
// revoked. Its writes are in the log and in the metrics. The service ends without losing a call.
func TestServe(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "state")
	s := startTestService(t, folder)
	c := s.addAndConnectClient("ci", "--region", "mark", "--prefix", "ci")
	if err := c.Region("mark").Bind(t.Context(), engine.Row{Key: "ci/web-1", HostKey: "h1", SystemID: "abc123"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Region("mark").MarkLeaving(t.Context(), "other/web-1"); !errors.Is(err, engine.ErrForbidden) {
		t.Errorf("another one's row: %v", err)
	}
	if err := runCommand(t.Context(), folder, io.Discard, io.Discard, "client", "revoke", "ci"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tag(t.Context()); !errors.Is(err, engine.ErrForbidden) {
		t.Errorf("a client that was revoked: %v", err)
	}
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "ok", "/metrics": `maaslxd_ledger_requests_total{operation="bind",outcome="ok"} 1`,
	} {
		if status, text := s.getDiagnostics(path); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: status %d, want %q:\n%s", path, status, want, text)
		}
	}
	s.stop()
	if err := <-s.ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	for _, want := range []string{`"operation":"bind","outcome":"ok"`, `"operation":"leaving","outcome":"forbidden"`, `"key":"ci/web-1"`, `"msg":"ending"`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, s.log.String())
		}
	}
	if strings.Contains(s.log.String(), "PRIVATE") {
		t.Error("a key is in the log")
	}
	again := startTestService(t, folder)
	c = again.addAndConnectClient("all", "--region", "*", "--prefix", "*")
	if row, err := c.Region("mark").Row(t.Context(), "ci/web-1"); err != nil || row.SystemID != "abc123" {
		t.Errorf("after a new start: %+v, %v", row, err)
	}
}

// siteAuthority is an authority of a site, which signs certificates of clients and servers.
type siteAuthority struct {
	folder    string
	authority *access.Authority
}

func newSiteAuthority(t *testing.T) siteAuthority {
	t.Helper()
	folder := t.TempDir()
	authority, err := access.OpenAuthority(folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return siteAuthority{folder, authority}
}

// path returns the path of a file in its folder.
func (g siteAuthority) path(name string) string { return filepath.Join(g.folder, name) }

// issueClient makes the certificate of a client in NAME.crt, and returns its text.
func (g siteAuthority) issueClient(t *testing.T, name string) remote.Config {
	t.Helper()
	certificate, key, err := g.authority.IssueClient(name, time.Now(), time.Hour)
	if err := errors.Join(err, os.WriteFile(g.path(name+".crt"), certificate, 0o600)); err != nil {
		t.Fatal(err)
	}
	return remote.Config{CA: g.authority.Certificate, Certificate: string(certificate), Key: string(key)}
}

// issueServer makes the certificate of a service, in server.crt and server.key.
func (g siteAuthority) issueServer(t *testing.T) {
	t.Helper()
	pair, err := g.authority.IssueServer([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err := errors.Join(err,
		os.WriteFile(g.path("server.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(g.path("server.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// checkClient asks a service who the client is.
func (s *testService) checkClient(c remote.Config) error {
	s.t.Helper()
	c.Address = "https://" + s.address
	client, err := remote.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Check(s.t.Context())
	return err
}

// TestGivenCertificates serves with a certificate of a site. It accepts the clients of the site
// once they are registered, and no others. It makes no authority, because nobody needs one.
func TestGivenCertificates(t *testing.T) {
	t.Parallel()
	site, folder := newSiteAuthority(t), t.TempDir()
	site.issueServer(t)
	s := startTestService(t, folder, "--server-cert", site.path("server.crt"), "--server-key", site.path("server.key"), "--client-ca", site.path("ca.pem"))
	ci, other := site.issueClient(t, "ci"), site.issueClient(t, "other")
	register := []string{"client", "add", "ci", "--region", "*", "--prefix", "*"}
	if err := runCommand(t.Context(), folder, io.Discard, io.Discard, register...); err == nil || !strings.Contains(err.Error(), "has no authority of its own") {
		t.Errorf("the service would refuse what it makes: %v", err)
	}
	if err := runCommand(t.Context(), folder, io.Discard, io.Discard, append(register, "--certificate", site.path("ci.crt"))...); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "ca-key.pem")); err == nil {
		t.Error("an authority was made that nobody needs")
	}
	if err := s.checkClient(ci); err != nil {
		t.Errorf("a client of the site: %v", err)
	}
	if err := s.checkClient(other); !errors.Is(err, engine.ErrForbidden) || !strings.Contains(err.Error(), "is not registered") {
		t.Errorf("one that nobody has registered: %v", err)
	}
	stranger := newSiteAuthority(t).issueClient(t, "ci")
	stranger.CA = ci.CA
	if err := s.checkClient(stranger); !errors.Is(err, engine.ErrForbidden) || !strings.Contains(err.Error(), "is not signed by an authority") {
		t.Errorf("one of another site: %v", err)
	}
}

// TestClientCA accepts clients of a site beside those of its own authority.
func TestClientCA(t *testing.T) {
	t.Parallel()
	site, folder := newSiteAuthority(t), t.TempDir()
	s := startTestService(t, folder, "--client-ca", site.path("ca.pem"))
	if _, err := s.addAndConnectClient("own", "--region=*", "--prefix=*").Check(t.Context()); err != nil {
		t.Errorf("a client of its own: %v", err)
	}
	ci := site.issueClient(t, "ci")
	if err := runCommand(t.Context(), folder, io.Discard, io.Discard, "client", "add", "ci", "--region=*", "--prefix=*", "--certificate", site.path("ci.crt")); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	ci.CA = string(ca)
	if err := s.checkClient(ci); err != nil {
		t.Errorf("a client of the site: %v", err)
	}
}

// TestBadServe: whatever stops a service from starting is one error with a way out.
func TestBadServe(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cases := map[string]struct {
		reason string
		spoil  func(t *testing.T, folder string)
		args   []string
		says   string
	}{
		"PortTaken":   {"Another program listens there.", nil, []string{"--listen", taken.Addr().String()}, "--listen: cannot listen at"},
		"HealthTaken": {"Nor may the probes be left out.", nil, []string{"--health-addr", taken.Addr().String()}, "--health-addr: cannot listen at"},
		"Twice":       {"Two services would forget each other's answers.", func(t *testing.T, folder string) { startTestService(t, folder) }, nil, "another service uses the ledger"},
		"ReadOnly": {"Nothing can be written.", func(t *testing.T, folder string) {
			if os.Geteuid() == 0 {
				t.Skip("root may write everywhere")
			}
			if err := os.Chmod(folder, 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
		}, nil, "the folder of the ledger"},
		"Newer": {"A newer program has used the file.", func(t *testing.T, folder string) { makeNewerLedger(t, filepath.Join(folder, "ledger.db")) }, nil, "has schema"},
		"Damaged": {"It is no ledger.", func(t *testing.T, folder string) {
			if err := os.WriteFile(filepath.Join(folder, "ledger.db"), []byte(strings.Repeat("no ledger ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, nil, "is damaged, or is not a ledger"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if tc.spoil != nil {
				tc.spoil(t, folder)
			}
			args := append([]string{"serve", "--listen", "127.0.0.1:0", "--health-addr", ""}, tc.args...)
			err := runCommand(t.Context(), folder, io.Discard, io.Discard, args...)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%s\ngot %v, want %q", tc.reason, err, tc.says)
			}
			if problems := setting.ExplainError(err); len(problems) != 1 || problems[0].Hint == "" {
				t.Errorf("%s\ngot %+v", tc.reason, problems)
			}
		})
	}
}

// makeNewerLedger makes a ledger with a schema of a later version.
func makeNewerLedger(t *testing.T, path string) {
	t.Helper()
	l, err := rows.OpenFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO schema_version (version) VALUES (1000)`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRowsAndMoves uses an operator's commands on a running service. It imports a file, lists
// the rows, forgets one row, and exports the others.
func TestRowsAndMoves(t *testing.T) {
	t.Parallel()
	s := startTestService(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "ledger.db")
	l, err := rows.OpenFile(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	of := l.Region("m1")
	for _, key := range []engine.Key{"ci/web-1", "gone/web-1"} {
		row := engine.Row{Key: key, Name: "web-1", HostKey: "h1", SystemID: "abc", Need: engine.Need{Cores: 2, MemoryMiB: 2048, DiskBytes: map[string]int64{"default": 8e9}}}
		if err := of.Bind(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	if err := of.MarkLeaving(t.Context(), "gone/web-1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		var out output
		if err := runCommand(t.Context(), s.folder, &out, io.Discard, args...); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := run("import", file); got != "rows moved: 2 (already there: 0)\n" {
		t.Errorf("got %q", got)
	}
	mine := s.addAndConnectClient("ci", "--region=*", "--prefix=ci").Region("m1")
	if row, err := mine.Row(t.Context(), "ci/web-1"); err != nil || row.SystemID != "abc" {
		t.Errorf("the service does not know it: %+v, %v", row, err)
	}
	listed := run("rows")
	for _, part := range []string{"REGION", "AGE", "m1", "gone/web-1", "leaving", "2 cores, 2048 MiB, 8 GB of default"} {
		if !strings.Contains(listed, part) {
			t.Errorf("%q is not in:\n%s", part, listed)
		}
	}
	if listed := run("rows", "--owner=ci"); strings.Contains(listed, "gone/") {
		t.Errorf("it lists another owner's:\n%s", listed)
	}
	release, err := mine.Hold(t.Context(), "ci/web-1")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		says string
		args []string
	}{
		"Lives":    {"is making it", []string{"forget", "ci/web-1"}},
		"InUse":    {"the ledger is in use", []string{"export", file}},
		"Unknown":  {"no row of ci/none", []string{"forget", "ci/none"}},
		"NoKey":    {"no key is given", []string{"forget"}},
		"NoFile":   {"there is no ledger", []string{"rows", "--ledger", file + "x"}},
		"NoImport": {"there is no ledger", []string{"import", file + "x"}},
		"Address":  {"is an address", []string{"rows", "--ledger", "https://ledger.example"}},
		"TwoFiles": {"name exactly one file", []string{"import", file, file}},
	} {
		if err := runCommand(t.Context(), s.folder, io.Discard, io.Discard, tc.args...); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want %q", name, err, tc.says)
		}
	}
	release()
	if got := run("forget", "gone/web-1"); got != "gone/web-1 is forgotten\n" {
		t.Errorf("got %q", got)
	}
	if got := run("export", file, "--owner=ci"); got != "rows moved: 1 (already there: 0)\n" {
		t.Errorf("got %q", got)
	}
	if all := run("rows"); strings.Contains(all, "m1") {
		t.Errorf("the service still has:\n%s", all)
	}
	if all := run("rows", "--ledger", file); !strings.Contains(all, "ci/web-1") || strings.Contains(all, "gone/") {
		t.Errorf("the file has:\n%s", all)
	}
}
