package ledger

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine"
	rows "github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
)

const aboutServe = `Serves one ledger to the Terraform runs and managers of several machines, over
mutual TLS 1.3. It makes its own certificate authority at its first start, unless
you give it certificates. "ledger client add" makes certificates for clients. With
--node it is one of several nodes that share the ledger. "ledger cluster init"
begins such a cluster, on the first node.`

// serveOptions holds the settings of serve.
type serveOptions struct {
	folder, file, listen, diagnostics string
	names                             []string
	certificates
	node    nodeConfig
	grace   time.Duration
	verbose bool
}

// settings returns the flags of serve.
func (s *serveOptions) settings(p setting.Program) *setting.Settings {
	all := setting.New(p, aboutServe)
	addFolder(all, &s.folder)
	all.AddText(&s.file, "file", "LEDGER_FILE", "", "file of the ledger (default ledger.db in the folder)")
	all.AddText(&s.node.address, "node", "LEDGER_NODE", "", "HOST:PORT by which the other nodes of a cluster reach this one; the nodes share the ledger, and --file is refused")
	all.AddTexts(&s.node.peers, "peer", "LEDGER_PEERS", "HOST:PORT of another node of the cluster; may be given several times; the node ignores its own address")
	all.AddText(&s.node.keys, "keys", "LEDGER_KEYS", "", "folder with cluster-key.pem and ca-key.pem; the node copies them to --dir if they are missing there")
	all.AddText(&s.listen, "listen", "LEDGER_LISTEN", ":7443", "address at which clients reach the service")
	all.AddTexts(&s.names, "name", "LEDGER_NAME", "name or IP address by which clients call the service; may be given several times (default: this machine's name)")
	all.AddText(&s.serverCert, "server-cert", "LEDGER_SERVER_CERT", "", "file with the service's certificate in PEM, instead of one that the service makes; read again when it changes")
	all.AddText(&s.serverKey, "server-key", "LEDGER_SERVER_KEY", "", "file with the key of --server-cert in PEM")
	all.AddText(&s.clientCA, "client-ca", "LEDGER_CLIENT_CA", "", "file with authorities whose clients you may register (ledger client add --certificate), besides the service's own; with --server-cert the service makes none")
	all.AddText(&s.diagnostics, "health-addr", "LEDGER_HEALTH_ADDR", ":9441", `address of /healthz, /readyz and /metrics, over plain HTTP; "": none`)
	all.AddDuration(&s.grace, "grace", "LEDGER_GRACE", 20*time.Second, "how long running calls may take when the service stops")
	all.AddSwitch(&s.verbose, "verbose", "LEDGER_VERBOSE", "log reads, too")
	return all
}

// RunServe runs the command serve until ctx ends.
func RunServe(ctx context.Context, p setting.Program) error {
	s := &serveOptions{}
	if err := s.settings(p).Read(); err != nil {
		return err
	}
	if err := s.completeAndCheck(); err != nil {
		return err
	}
	running, err := s.openService(ctx, p)
	if err != nil {
		return err
	}
	if p.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return running.run(ctx)
}

// gcPercent lets the heap grow to five times the memory in use, a few MiB,
// before a collection. With Go's default, twice, collections take a twentieth
// of the processor.
const gcPercent = 400

// completeAndCheck completes the settings, and refuses invalid ones.
func (s *serveOptions) completeAndCheck() error {
	s.node.folder = s.folder
	switch {
	case s.node.address == "" && len(s.node.peers) > 0:
		return &setting.UsageError{Flag: "--node", Text: "it is missing", Hint: "--peer names the other nodes of a cluster, and --node this one."}
	case s.node.address == "" && isClusterNode(s.folder):
		return &setting.UsageError{Flag: "--node", Text: fmt.Sprintf("it is missing, but %s has the data of a node", s.folder), Hint: "Give the node's address, or name another folder by --dir."}
	case s.node.address != "" && s.file != "":
		return &setting.UsageError{Flag: "--file", Text: "a cluster keeps its ledger on the nodes, not in a file", Hint: "Leave out --file. Move its rows with capi-bridge ledger import."}
	case s.node.address != "":
		if err := s.node.prepare(); err != nil {
			return err
		}
		s.file = s.node.dataFolder()
	case s.file == "":
		s.file = filepath.Join(s.folder, "ledger.db")
	}
	return s.certificates.checkCertificateFlags()
}

// runningService is a service with all its resources.
type runningService struct {
	serveOptions
	log             *slog.Logger
	lock            *os.File
	rows            *rows.Ledger // in a cluster: nil until the node is a member
	cluster         node         // nil: the ledger is in a file
	gate            gate
	leads           atomic.Bool
	watching        sync.WaitGroup
	stopWatching    context.CancelFunc // nil: the node is not watched
	clients, health net.Listener       // health may be nil
	server, probes  *http.Server
	ending          atomic.Bool
	version         string
}

// openService opens the file and the ports. Each error names a way out.
func (s *serveOptions) openService(ctx context.Context, p setting.Program) (r *runningService, err error) {
	level := slog.LevelInfo
	if s.verbose {
		level = slog.LevelDebug
	}
	r = &runningService{serveOptions: *s, version: p.Version, log: slog.New(slog.NewJSONHandler(p.Stderr, &slog.HandlerOptions{Level: level}))}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.releaseResources())
		}
	}()
	if r.lock, err = lockFile(s.file); err != nil {
		return r, err
	}
	r.node.log = r.log
	if s.node.address == "" {
		if r.rows, err = rows.OpenFile(ctx, s.file); err != nil {
			return r, err
		}
	} else if err := s.checkSharedAuthority(); err != nil {
		return r, err
	}
	if err := r.certificates.openCertificates(s.folder, s.certificateNames(), r.log); err != nil {
		return r, err
	}
	if r.clients, err = listenAt(ctx, "--listen", s.listen); err != nil {
		return r, err
	}
	if s.diagnostics != "" {
		r.health, err = listenAt(ctx, "--health-addr", s.diagnostics)
	}
	return r, err
}

// certificateNames returns the names and addresses for the service's
// certificate.
func (s *serveOptions) certificateNames() []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, s.names...)
	if host, _, err := net.SplitHostPort(s.listen); err == nil && host != "" {
		names = append(names, host)
	}
	if len(s.names) == 0 {
		if host, err := os.Hostname(); err == nil {
			names = append(names, host)
		}
	}
	return names
}

// listenAt opens a port.
func listenAt(ctx context.Context, flag, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &setting.UsageError{
			Flag: flag, Text: fmt.Sprintf("cannot listen at %s: %v", address, causeWithoutAddress(err)),
			Hint: "Another program may have the port: ss -ltnp. Stop it, or choose another address.",
		}
	}
	return listener, nil
}

func causeWithoutAddress(err error) error {
	if wrapped, ok := errors.AsType[*net.OpError](err); ok {
		return wrapped.Err
	}
	return err
}

// run serves until ctx ends, and then waits for the running calls.
func (r *runningService) run(ctx context.Context) error {
	counted := newMetrics(&r.leads)
	failed := make(chan error, 2)
	address := ""
	if r.node.address != "" {
		r.gate.setClosed(errStarting)
	}
	if r.health != nil {
		address = r.health.Addr().String()
		r.probes = &http.Server{Handler: r.diagnosticsHandler(counted), ReadHeaderTimeout: 10 * time.Second}
		go func() { failed <- r.probes.Serve(r.health) }()
	}
	register := access.NewRegister(r.folder)
	var leads func() bool
	if r.node.address != "" {
		if err := r.joinCluster(ctx); err != nil {
			return errors.Join(err, r.end(ctx))
		}
		if ctx.Err() != nil {
			return r.end(ctx)
		}
		register, leads = access.NewRegisterWith(service.NewLedgerClients(r.rows)), r.leads.Load
		watching, stop := context.WithCancel(ctx)
		r.watching.Go(func() { r.watchNode(watching) })
		r.stopWatching = stop
	}
	r.server = service.NewServer(service.New(service.Config{
		Ledger: r.rows, Clients: register, Signers: r.signers, Version: r.version, Log: r.log, OnAnswered: counted.countRequest, CheckAvailable: r.gate.checkOpen, IsLeader: leads,
	}), r.certificate, r.log)
	go func() { failed <- r.server.ServeTLS(service.LimitConnections(r.clients), "", "") }()
	r.log.Info("serving", "address", r.clients.Addr().String(), "health", address, "file", r.file, "authority", r.authorityPath(), "version", r.version)
	select {
	case <-ctx.Done():
		return r.end(ctx)
	case err := <-failed:
		return errors.Join(fmt.Errorf("the service ended: %w", err), r.end(ctx))
	}
}

// end waits for the running calls, and accepts no others.
func (r *runningService) end(ctx context.Context) error {
	r.log.Info("ending", "grace", r.grace.String())
	r.ending.Store(true)
	if r.stopWatching != nil {
		r.stopWatching()
		r.watching.Wait()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.grace)
	defer cancel()
	var err error
	if r.server != nil {
		err = r.server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			r.log.Info("some calls took too long to end")
			err = r.server.Close()
		}
		r.clients = nil // the server has closed it
	}
	if r.probes != nil {
		err = errors.Join(err, r.probes.Close())
		r.health = nil
	}
	return errors.Join(err, r.releaseResources())
}

// releaseResources closes all resources of the service.
func (r *runningService) releaseResources() error {
	var errs []error
	for _, l := range []net.Listener{r.clients, r.health} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	if r.rows != nil {
		errs = append(errs, r.rows.Close())
	}
	if r.cluster != nil {
		errs = append(errs, r.cluster.Close(context.Background()))
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Close())
	}
	return errors.Join(errs...)
}

// lockFile locks the ledger's file against a second service. The lock ends with
// the process.
func lockFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, folderError(path, err)
	}
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, folderError(path, err)
	}
	taken, err := flock(file)
	switch {
	case err != nil:
		return nil, errors.Join(folderError(path, err), file.Close())
	case taken:
		return nil, errors.Join(&engine.Refusal{
			Message: fmt.Sprintf("another service uses the ledger %s", path),
			Hint:    "Stop that one first, or name another folder by --dir.", Err: engine.ErrConflict,
		}, file.Close())
	}
	return file, nil
}

func folderError(path string, err error) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("the folder of the ledger %s cannot be used: %v", path, err),
		Hint:    "Name by --dir a folder on a local disk in which this user may create files.", Err: engine.ErrForbidden,
	}
}

// certificate returns the service's certificate for a new connection.
func (r *runningService) certificate() (*tls.Certificate, error) {
	return r.certificates.currentCertificate(time.Now())
}
