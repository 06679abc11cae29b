package remote_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
)

// envFolder names the variable with the folder that a test service serves.
const envFolder = "MAASLXD_TEST_SERVICE"

func TestMain(m *testing.M) {
	folder := os.Getenv(envFolder)
	if folder == "" {
		os.Exit(m.Run())
	}
	if err := runTestService(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runTestService prints its address and serves a folder, until it is killed or its parent has
// ended.
func runTestService(folder string) error {
	authority, err := access.OpenAuthority(folder, time.Now())
	if err != nil {
		return err
	}
	pair, err := authority.IssueServer([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		return err
	}
	rows, err := ledger.OpenFile(context.Background(), filepath.Join(folder, "ledger.db"))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler := service.New(service.Config{Ledger: rows, Clients: access.NewRegister(folder), Signers: authority.Pool(), Version: "test"})
	server := service.NewServer(handler, func() (*tls.Certificate, error) { return &pair, nil }, slog.New(slog.DiscardHandler))
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println(listener.Addr())
	return server.ServeTLS(listener, "", "")
}

// killableService is a service in another process, behind a proxy.
type killableService struct {
	t         testing.TB
	folder    string
	authority *access.Authority
	proxy     *ledgertest.Proxy
	process   *exec.Cmd
	deaths    int
}

func newKillableService(t testing.TB) *killableService {
	t.Helper()
	s := &killableService{t: t, folder: t.TempDir(), proxy: ledgertest.NewProxy(t)}
	var err error
	if s.authority, err = access.OpenAuthority(s.folder, time.Now()); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

// start starts the service, and lets the proxy forward to it.
func (s *killableService) start() {
	s.t.Helper()
	s.process = exec.Command(os.Args[0])
	s.process.Env = append(os.Environ(), envFolder+"="+s.folder)
	s.process.Stderr = os.Stderr
	_, err := s.process.StdinPipe() // the pipe is closed when this process ends
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Errorf("the service does not start: %v", err)
	}
	s.proxy.ForwardTo(strings.TrimSpace(address))
}

func (s *killableService) kill() {
	s.deaths++
	if err := s.process.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	_ = s.process.Wait() // it was killed
}

// openerWithPrefix opens the ledger for a client with a name and prefix of its own.
func (s *killableService) openerWithPrefix(prefix string) func(int) engine.Ledger {
	return func(client int) engine.Ledger {
		s.t.Helper()
		name := fmt.Sprint("client-", client)
		certificate, key, err := s.authority.IssueClient(name, time.Now(), time.Hour)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := access.NewRegister(s.folder).Add(s.t.Context(), name, access.Rights{Regions: []string{"maas"}, Prefix: prefix}, certificate, time.Now()); err != nil {
			s.t.Fatal(err)
		}
		return mustNewClient(s.t, remote.Config{
			Address: "https://" + s.proxy.Address(), CA: s.authority.Certificate, Certificate: string(certificate), Key: string(key), Version: "test",
		}).Region("maas")
	}
}

// injectFaults kills the service and loses its replies, at random moments.
func (s *killableService) injectFaults(ctx context.Context, rnd *rand.Rand) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(rnd.IntN(500)) * time.Millisecond):
		}
		if rnd.IntN(3) > 0 {
			s.proxy.LoseReplies(time.Duration(rnd.IntN(50)) * time.Millisecond)
			continue
		}
		s.kill()
		s.proxy.ForwardTo("")
		time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond)
		s.start()
	}
}

// TestLinearizable kills the service and loses its replies. One client after the other could
// have got the same answers.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	ledgertest.CheckHistories(t, func(t *testing.T) ledgertest.Trial {
		s := newKillableService(t)
		return ledgertest.Trial{Open: s.openerWithPrefix(access.Wildcard), InjectFaults: s.injectFaults}
	})
}

// TestAcknowledgedOnce: 32 writers lose no write that the service acknowledged before it was
// killed.
func TestAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	s := newKillableService(t)
	ledgertest.CheckAcknowledgedOnce(t, ledgertest.Trial{Open: s.openerWithPrefix(access.Wildcard), InjectFaults: s.injectFaults, Clients: 32, Steps: 16, Seed: 1})
	if s.deaths == 0 {
		t.Error("the service was never killed: this proves nothing")
	}
	t.Logf("the service died %d times", s.deaths)
}
