package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// LedgerAccess is the access to a ledger service, in PEM: the authorities to trust, and the
// client certificate with its key.
type LedgerAccess struct {
	CA, Certificate, Key string
	Files                remote.Files // the files of these
}

// Ledgers are the open ledgers of this process: files by path, and services by access. The
// provider blocks of one process share them.
type Ledgers struct {
	mu       sync.Mutex
	files    map[string]ledger.Regions
	services map[remote.Config]*remote.Client
}

// openFile opens a file, and creates it if it does not exist.
func (l *Ledgers) openFile(ctx context.Context, path string) (ledger.Regions, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have := l.files[path]; have != nil {
		return have, nil
	}
	file, err := ledger.OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	if l.files == nil {
		l.files = map[string]ledger.Regions{}
	}
	l.files[path] = ledger.LocalRegions{Ledger: file}
	return l.files[path], nil
}

// connectService makes a client of a service, without a call.
func (l *Ledgers) connectService(c remote.Config) (*remote.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have := l.services[c]; have != nil {
		return have, nil
	}
	made, err := remote.New(c)
	if err != nil {
		return nil, err
	}
	if l.services == nil {
		l.services = map[remote.Config]*remote.Client{}
	}
	l.services[c] = made
	return made, nil
}

// Close closes all of them.
func (l *Ledgers) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for path, opened := range l.files {
		errs = append(errs, opened.Close())
		delete(l.files, path)
	}
	for config, service := range l.services {
		errs = append(errs, service.Close())
		delete(l.services, config)
	}
	return errors.Join(errs...)
}

// isService tells whether a service has the ledger.
func (l *lazyLedger) isService() bool { return remote.IsAddress(l.path) }

// hasFile tells whether the ledger is a file, so that other files can be kept beside it.
func (l *lazyLedger) hasFile() bool { return l.path != MemoryLedger && !l.isService() }

// serviceConfig is the configuration of the service's client.
func (l *lazyLedger) serviceConfig() remote.Config {
	return remote.Config{Address: l.path, CA: l.access.CA, Certificate: l.access.Certificate, Key: l.access.Key, Files: l.access.Files}
}

// ledgerServiceTimeout limits the call that asks a service for the owner of the client
// certificate.
const ledgerServiceTimeout = 5 * time.Second

// checkService returns terminal errors at once. A service that is away becomes an error only
// at the first reservation.
func checkService(ctx context.Context, service *remote.Client) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerServiceTimeout)
	defer cancel()
	if _, err := service.Check(ctx); engine.IsTerminal(err) {
		return err
	}
	return nil
}

// withLedgerHint adds to an error of the file which attribute chooses another file.
func (l *lazyLedger) withLedgerHint(err error) error {
	refusal, ok := errors.AsType[*engine.Refusal](err)
	if !ok || l.isService() {
		return err
	}
	file, _ := l.filePath() // empty: the error is that there is no place for a file
	return &engine.LedgerError{Ledger: file, Err: &engine.Refusal{Message: err.Error(), Hint: refusal.Hint + " " + ledgerHint, Err: refusal.Err}}
}
