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

// LedgerAccess is how a ledger service is reached, in PEM: whom to trust, and who this
// is.
type LedgerAccess struct {
	CA, Certificate, Key string
	Files                remote.Files // from which these were read
}

// Ledgers are the ledgers that this process has open: files by their paths, and
// services by what reaches them. Several provider blocks of one process share them.
type Ledgers struct {
	mu       sync.Mutex
	files    map[string]ledger.Regions
	services map[remote.Config]*remote.Client
}

// openFile opens a file, and makes it if there is none.
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

// connectService makes a client of a service, and asks nothing.
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

// isService tells whether the ledger is kept on another machine.
func (l *lazyLedger) isService() bool { return remote.IsAddress(l.path) }

// hasFile tells whether the ledger is a file, beside which others can be kept.
func (l *lazyLedger) hasFile() bool { return l.path != MemoryLedger && !l.isService() }

// serviceConfig is how the service is reached.
func (l *lazyLedger) serviceConfig() remote.Config {
	return remote.Config{Address: l.path, CA: l.access.CA, Certificate: l.access.Certificate, Key: l.access.Key, Files: l.access.Files}
}

// ledgerServiceTimeout bounds the question who this is for a service.
const ledgerServiceTimeout = 5 * time.Second

// checkService tells at once what no repetition mends. A service that is away is an error
// once something is reserved.
func checkService(ctx context.Context, service *remote.Client) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerServiceTimeout)
	defer cancel()
	if _, err := service.Check(ctx); engine.IsTerminal(err) {
		return err
	}
	return nil
}

// withLedgerHint adds to what is wrong with a file which attribute chooses another.
func (l *lazyLedger) withLedgerHint(err error) error {
	refusal, ok := errors.AsType[*engine.Refusal](err)
	if !ok || l.isService() {
		return err
	}
	file, _ := l.filePath() // empty: there is no place for one, which is what is wrong
	return &engine.LedgerError{Ledger: file, Err: &engine.Refusal{Message: err.Error(), Hint: refusal.Hint + " " + ledgerHint, Err: refusal.Err}}
}
