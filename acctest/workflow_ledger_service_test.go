package acctest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/ledger"
	commands "github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// ledgerService is a test's ledger service, in a folder.
type ledgerService struct {
	folder, address string

	mu  sync.Mutex
	log bytes.Buffer
}

// Write receives the service's log.
func (s *ledgerService) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(text)
}

// command runs capi-bridge ledger.
func (s *ledgerService) command(ctx context.Context, args ...string) error {
	return s.print(ctx, io.Discard, args...)
}

// print runs capi-bridge ledger, and writes its output.
func (s *ledgerService) print(ctx context.Context, to io.Writer, args ...string) error {
	return ledger.Run(ctx, commands.Program{
		Name: "capi-bridge ledger", Args: args, Stdout: to, Stderr: s, Version: "test",
		Getenv: func(name string) string { return map[string]string{"LEDGER_DIR": s.folder}[name] },
	})
}

// startLedgerService serves until the end of the test.
func startLedgerService(t *testing.T) *ledgerService {
	t.Helper()
	s := &ledgerService{folder: t.TempDir()}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.command(ctx, "serve", "--listen=127.0.0.1:0", "--health-addr=") }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		s.mu.Lock()
		text := s.log.String()
		s.mu.Unlock()
		var line struct{ Msg, Address string }
		if json.NewDecoder(strings.NewReader(text)).Decode(&line) == nil && line.Msg == "serving" {
			s.address = "https://" + line.Address
			return s
		}
	}
	t.Fatal("the ledger is not served")
	return nil
}

// provider is the provider block of an owner with a client of its own.
func (s *ledgerService) provider(t *testing.T, x *target, owner string) string {
	t.Helper()
	keys := t.TempDir()
	if err := s.command(t.Context(), "client", "add", owner, "--region=*", "--prefix", owner, "--out", keys); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("provider \"maaslxd\" {\n  api_url = %q\n  api_key = %q\n  owner = %q\n  poll_interval = \"50ms\"\n  ledger = %q\n  ledger_ca = %q\n  ledger_cert = %q\n  ledger_key = %q\n  %s}\n",
		x.url, x.key, owner, s.address, filepath.Join(keys, "ca.pem"), filepath.Join(keys, owner+".crt"), filepath.Join(keys, owner+".key"), x.keySettings())
}

// TestAccWorkflowLedgerService lets two runs of two owners make VMs at once,
// with one ledger on another machine. Then one of them is revoked.
func TestAccWorkflowLedgerService(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	service := startLedgerService(t)
	spaces := map[string]workspace{}
	for _, owner := range []string{"red", "blue"} {
		body := fmt.Sprintf("resource \"maaslxd_vm\" \"some\" {\n  count = 3\n  name = \"%s-${count.index}\"\n  cores = 1\n  placement = {}\n}\n", owner)
		spaces[owner] = newWorkspace(t, service.provider(t, x, owner)+body)
	}
	var runs sync.WaitGroup
	for _, w := range spaces {
		runs.Go(func() { w.run(t, "apply", "-auto-approve", "-no-color") })
	}
	runs.Wait()
	x.wantNoOvercommit(t)
	for _, w := range spaces {
		w.wantEmptyPlan(t)
	}
	var listed bytes.Buffer
	if err := service.print(t.Context(), &listed, "rows"); err != nil {
		t.Fatal(err)
	}
	for owner := range spaces {
		for n := range 3 {
			if key := fmt.Sprintf("%s/%s-%d", owner, owner, n); !strings.Contains(listed.String(), key) {
				t.Errorf("the service has no row of %s:\n%s", key, listed.String())
			}
		}
	}
	if err := service.command(t.Context(), "client", "revoke", "blue"); err != nil {
		t.Fatal(err)
	}
	spaces["blue"].wantRefusedPlan(t, "The ledger cannot be used client blue was revoked")
	spaces["red"].run(t, "destroy", "-auto-approve", "-no-color")
}
